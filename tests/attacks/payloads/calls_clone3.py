# aim: make a child by the call whose flags no filter can read
# wall: seccomp: the call looks absent
# expect: ok
# control: without seccomp

from calls import *

MEMORY[:64] = (0x10000000).to_bytes(8, "little") + bytes(24) + (17).to_bytes(8, "little") + bytes(24)
call("clone3", PAGE, 64)
call("clone3", 0, 0)
