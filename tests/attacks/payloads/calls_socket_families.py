# aim: open a socket of every other family there is
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

for family in range(48):
    if family not in (1, 2, 10):
        call("socket", family, 2, 0)
        call("socket", family, 5, 0)
for family in (2, 10, 16, 30, 38, 40):
    call("socketpair", family, 2, 0, PAGE)
