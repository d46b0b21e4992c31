# aim: find System V objects of an earlier run by their keys
# wall: ipc: a namespace of its own
# expect: ok
# times: 2
# control: twice
# meters: cgroup

import ctypes

libc = ctypes.CDLL(None)
if libc.shmget(4711, 4096, 0o600) >= 0 or libc.semget(4711, 1, 0o600) >= 0 or libc.msgget(4711, 0o600) >= 0:
    print("ESCAPED")
libc.shmget(4711, 4096, 0o1600)
libc.semget(4711, 1, 0o1600)
libc.msgget(4711, 0o1600)
for name in ("shm", "sem", "msg"):
    if len(open(f"/proc/sysvipc/{name}").read().splitlines()) > 2:
        print("ESCAPED: more of", name, "than mine")
