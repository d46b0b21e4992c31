# aim: make calls by the x32 numbers
# wall: seccomp: it looks at the bit
# expect: ok
# machines: x86_64
# control: without seccomp

from calls import *

for number in (39, 272, 165, 101, 321, 425, 512, 520, 534, 547):
    call(0x40000000 | number, 0x10000000, 0, 0)
