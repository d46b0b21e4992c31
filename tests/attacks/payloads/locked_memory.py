# aim: lock memory
# wall: memory meter, RLIMIT_MEMLOCK
# expect: memory_limit

import ctypes
import mmap

if ctypes.CDLL(None).mlockall(3) == 0:
    print("ESCAPED: mlockall")
held = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 4096):
    held[at] = 1
