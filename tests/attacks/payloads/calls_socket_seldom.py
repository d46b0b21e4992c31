# aim: load and use transports that few machines need
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("socket", 2, 1, 132)
call("socket", 2, 5, 132)
call("socket", 2, 1, 262)
call("socket", 2, 6, 33)
call("socket", 2, 2, 136)
call("socket", 10, 2, 115)
call("socket", 2, 2, 115)
