# aim: be a program of another system, with fixed addresses
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

for persona in (0x40000, 0x440000, 0x8, 0x20000, 0x4000000):
    call("personality", persona)
    call("personality", persona | HIGH)
