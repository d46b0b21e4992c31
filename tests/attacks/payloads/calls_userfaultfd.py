# aim: stop the kernel in the middle of a copy
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("userfaultfd", 1)
call("userfaultfd", 0xFFFF)
