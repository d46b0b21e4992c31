# aim: make namespaces of its own
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
    for high in (0, HIGH, 1 << 63):
        call("unshare", flag | high)
call("unshare", 0)
