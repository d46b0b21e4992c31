# aim: speak to the kernel's network by netlink
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("socket", 16, 3, 0)
call("socket", 16, 3, 4)
call("socket", 16, 3, 9)
call("socket", 16, 3, 12)
call("socket", 16, 3, 15)
call("socket", 16, 3, 16)
call("socket", HIGH | 16, 3, 0)
call("socket", 16, HIGH | 3, 0)
