# aim: take a descriptor of its init, or compare with it
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import os

call("pidfd_getfd", os.pidfd_open(1), 0, 0)
call("pidfd_getfd", -1, 0, 0)
call("kcmp", 1, os.getpid(), 0, 0, 0)
call("kcmp", os.getpid(), os.getpid(), 99, 0, 0)
call("get_robust_list", 1, PAGE, PAGE)
call("get_robust_list", 0, BAD, BAD)
