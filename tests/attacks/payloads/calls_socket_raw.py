# aim: make its own IP packets, or ping
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("socket", 2, 3, 1)
call("socket", 2, 3, 255)
call("socket", 10, 3, 58)
call("socket", 2, 2, 1)
call("socket", 10, 2, 58)
