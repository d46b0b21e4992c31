# aim: leave a core, or start the host's core handler
# wall: RLIMIT_CORE
# expect: signaled
# signal: SIGSEGV

import ctypes
import os
import resource

if resource.getrlimit(resource.RLIMIT_CORE) != (0, 0):
    print("ESCAPED: limit")
if os.fork() == 0:
    os.abort()
if os.WCOREDUMP(os.wait()[1]):
    print("ESCAPED: core")
ctypes.string_at(0)
