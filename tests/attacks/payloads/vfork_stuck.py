# aim: wait where a signal does not reach
# wall: a vfork parent can be killed
# expect: timeout
# limits: wall_seconds=1
# hits: wall

import ctypes
import time

if ctypes.PyDLL(None).syscall(56, 0x4000 | 17, 0, 0, 0, 0) == 0:
    while True:
        time.sleep(1)
