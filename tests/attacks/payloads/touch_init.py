# aim: read or change pid 1 by the calls that debuggers use
# wall: seccomp, not dumpable
# expect: ok

import ctypes
import os

libc = ctypes.CDLL(None)
here = ctypes.create_string_buffer(4096)
address = ctypes.addressof(here)
pidfd = os.pidfd_open(1)
calls = {
    "ptrace attach": (101, 16, 1, 0, 0),
    "ptrace seize": (101, 0x4206, 1, 0, 0),
    "process_vm_readv": (310, 1, address, 1, address, 1, 0),
    "process_vm_writev": (311, 1, address, 1, address, 1, 0),
    "pidfd_getfd": (438, pidfd, 0, 0),
    "kcmp": (312, 1, os.getpid(), 0, 0, 0),
    "prlimit": (302, 1, 7, 0, address),
    "prlimit, high bits": (302, 1 | 1 << 32, 7, 0, address),
    "move_pages": (279, 1, 0, 0, 0, 0, 0),
    "migrate_pages": (256, 1, 8, address, address),
    "sched_setaffinity": (203, 1, 8, address),
    "get_robust_list": (274, 1, address, address),
    "process_madvise": (440, pidfd, address, 1, 4, 0),
    "process_mrelease": (448, pidfd, 0),
    "setns": (308, pidfd, 0x10000000),
    "pidfd namespace": (16, pidfd, 0xFF09, 0),
    "setpgid": (109, 1, 0),
    "perf_event_open": (298, address, 1, -1, -1, 0),
}
for name, (number, *arguments) in calls.items():
    if libc.syscall(*(ctypes.c_long(each) for each in (number, *arguments))) >= 0:
        print("ESCAPED:", name)
