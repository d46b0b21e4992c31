# aim: speak to the hypervisor
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("socket", 40, 1, 0)
call("socket", 40, 2, 0)
