# aim: draw on the machine's count of asynchronous requests
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("io_setup", 8, BAD)
call("io_setup", 8, PAGE)
call("io_submit", 1, 1, BAD)
call("io_cancel", 1, BAD, BAD)
call("io_getevents", 1, 0, 0, 0, 0)
call("io_pgetevents", 1, 0, 0, 0, 0, 0)
call("io_destroy", 1)
