# aim: throw files that all runs share out of memory, to slow neighbours down or to see what they read next
# expect: ok
# wall: seccomp: no advice to let go of pages
# control: without seccomp

import glob
import os

paths = glob.glob("/usr/lib/python3*/[h-q]*.py") + glob.glob("/opt/python/lib/python3*/[h-q]*.py")
evicted = 0
for path in paths:
    file = os.open(path, os.O_RDONLY)
    while os.read(file, 1 << 20):
        pass
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        evicted += 1
    except OSError:
        pass
    os.close(file)
if evicted or not paths:
    print("ESCAPED:", evicted)
