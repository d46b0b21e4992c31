# aim: send and see packets as they are
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("socket", 17, 3, 768)
call("socket", 17, 2, 768)
call("socket", 2, 10, 0)
