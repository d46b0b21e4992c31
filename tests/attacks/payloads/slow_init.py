# aim: starve pid 1, so that our own account fails
# wall: nobody changes how another process is scheduled
# expect: ok

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
if libc.syscall(142, 1, bytes(4)) == 0 or libc.syscall(314, 1, (ctypes.c_uint32 * 12)(48, 5), 0) == 0:
    print("ESCAPED: scheduling")
if libc.setpriority(0, 0, 5) != 0 or libc.syscall(251, 1, 0, 3 << 13) != 0:
    raise SystemExit("it cannot even be nice itself")
