# aim: set attributes of files by every call there is
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import os

file = os.open("/tmp/x", os.O_RDWR | os.O_CREAT)
MEMORY[:32] = b"/tmp/x\0".ljust(16, b"\0") + b"user.x\0".ljust(16, b"\0")
call("setxattr", PAGE, PAGE + 16, PAGE, 1, 0)
call("lsetxattr", PAGE, PAGE + 16, PAGE, 1, 0)
call("fsetxattr", file, PAGE + 16, PAGE, 1, 0)
call("setxattrat", -100, PAGE, 0, PAGE + 16, PAGE, 16)
