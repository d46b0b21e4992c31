# aim: use the kernel's ciphers
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("socket", 38, 5, 0)
