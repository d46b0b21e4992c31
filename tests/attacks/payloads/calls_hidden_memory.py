# aim: have memory that the kernel itself cannot see
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("memfd_secret", 0)
call("memfd_secret", 0xFFFF)
