# aim: use what this profile does not know yet
# wall: seccomp: what it does not name looks absent
# expect: ok
# control: without seccomp

from calls import *

call("futex_waitv", BAD, 1, 0, 0, 0)
call("futex_wake", BAD, 0, 0, 0)
call("file_getattr", -1, BAD, BAD, 24, 0)
call("file_setattr", -1, BAD, BAD, 24, 0)
for number in (471, 512, 547, 1000, 4000, 0x3FFFFFFF):
    call(number, 0, 0, 0)
