# aim: open files by numbers, past the mount namespace
# wall: seccomp
# expect: ok
# control: without seccomp, capabilities

from calls import *

call("name_to_handle_at", -1, BAD, BAD, BAD, 0)
call("open_by_handle_at", -1, BAD, 0)
