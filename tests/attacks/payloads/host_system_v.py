# aim: attach shared memory of the host
# wall: ipc
# expect: ok
# control: without ipc

import ctypes
import os

libc = ctypes.CDLL(None)
key = int(os.environ["CANARY_KEY"])
if libc.shmget(key, 4096, 0) >= 0:
    print("ESCAPED:", key)
if str(key) in open("/proc/sysvipc/shm").read():
    print("ESCAPED: it is listed")
