# aim: keep keys, or find those of its uid
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("keyctl", 0, -3, 0, 0, 0)
call("keyctl", 9999, 0, 0, 0, 0)
call("add_key", BAD, BAD, BAD, 1, -3)
call("request_key", BAD, BAD, BAD, 0)
