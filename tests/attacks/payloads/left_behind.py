# aim: find what an earlier run left
# wall: every run has namespaces and a root of its own
# expect: ok
# times: 2

import ctypes
import fcntl
import os
import socket

libc = ctypes.CDLL(None)
for place in ("/tmp", "/workspace", "/dev/shm", "/mnt/data"):
    if os.path.exists(f"{place}/trace"):
        print("ESCAPED:", place)
for place in ("/tmp", "/workspace", "/dev/shm"):
    open(f"{place}/trace", "w").write("x")
if libc.shmget(4711, 4096, 0o600) >= 0 or libc.semget(4711, 1, 0o600) >= 0 or libc.msgget(4711, 0o600) >= 0:
    print("ESCAPED: System V")
libc.shmget(4711, 4096, 0o1600)
libc.semget(4711, 1, 0o1600)
libc.msgget(4711, 0o1600)
other = socket.socket(socket.AF_UNIX)
if other.connect_ex("\0trace") == 0:
    print("ESCAPED: abstract socket")
mine = socket.socket(socket.AF_UNIX)
mine.bind("\0trace")
mine.listen()
try:
    fcntl.flock(open("/etc/passwd"), fcntl.LOCK_SH | fcntl.LOCK_NB)
except OSError:
    print("ESCAPED: flock")
import json

if hasattr(json, "trace"):
    print("ESCAPED: module")
json.trace = 1
