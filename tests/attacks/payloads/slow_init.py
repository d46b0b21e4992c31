# aim: starve pid 1, so that our own account fails
# wall: nobody changes how another process is scheduled
# expect: ok
# open: seccomp allows setpriority, sched_setscheduler, sched_setattr and ioprio_set for other processes

import ctypes
import os

libc = ctypes.CDLL(None)
if libc.setpriority(0, 1, 19) == 0:
    print("ESCAPED: nice")
if libc.setpriority(2, 0, 19) == 0:
    print("ESCAPED: nice of the user")
if libc.syscall(144, 1, 5, bytes(8)) == 0:
    print("ESCAPED: SCHED_IDLE")
if libc.syscall(251, 1, 1, 3 << 13) == 0:
    print("ESCAPED: idle I/O")
