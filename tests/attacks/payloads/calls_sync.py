# aim: make the host write to its disks
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("syncfs", 1)
call("syncfs", -1)
