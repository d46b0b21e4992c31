# aim: type into a terminal, take the console, load a line discipline, also with high bits in the request
# wall: seccomp: the filter compares 32 bits, as the kernel does
# expect: ok
# control: without seccomp

from calls import *

for request in (0x5412, 0x541C, 0x541D, 0x5423):
    for high in (0, HIGH, 1 << 63):
        call("ioctl", 1, request | high, PAGE)
