# aim: leave a core, or start the host's core handler
# expect: signaled
# signal: SIGSEGV
# wall: rlimit: RLIMIT_CORE is 1 and stays so: no file, and no handler either
# control: without core-limit

import ctypes
import os
import resource

if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1):
    print("ESCAPED: limit")
libc = ctypes.CDLL(None)
for limit in (0, 1):
    for call in (
        lambda new: libc.setrlimit(4, new),
        lambda new: libc.prlimit(0, 4, new, None),
        lambda new: libc.syscall(160, 4, new),
        lambda new: libc.syscall(302, 0, ctypes.c_long(1 << 32 | 4), new, None),
    ):
        if call((ctypes.c_ulong * 2)(limit, limit)) == 0:
            print("ESCAPED: set")
if os.fork() == 0:
    os.abort()
if os.WCOREDUMP(os.wait()[1]):
    print("ESCAPED: core")
ctypes.string_at(0)
