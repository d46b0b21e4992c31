# aim: trace its init, or anybody
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import os

call("ptrace", 16, 1, 0, 0)
call("ptrace", 0x4206, 1, 0, 0)
call("ptrace", 16, os.getppid(), 0, 0)
call("ptrace", 16, 0x7FFFFFFF, 0, 0)
call("ptrace", 0, 0, 0, 0)
