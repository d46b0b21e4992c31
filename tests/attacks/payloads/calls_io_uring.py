# aim: make calls past the filter, by io_uring
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("io_uring_setup", 8, BAD)
call("io_uring_setup", 8, PAGE)
call("io_uring_enter", -1, 0, 0, 0, 0, 0)
call("io_uring_register", -1, 0, 0, 0)
