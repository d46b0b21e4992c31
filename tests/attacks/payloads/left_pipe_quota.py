# aim: leave the pipes of its uid used up for the next run
# wall: uid: what a run has taken of a quota ends with it
# expect: ok
# times: 2
# control: twice

import fcntl
import os
import time

time.sleep(0.3)  # the memory of an earlier run may still be on its way back
kept = globals().setdefault("kept", [])
reader, writer = os.pipe()
try:
    size = fcntl.fcntl(writer, 1031, 1 << 20)
except OSError:
    size = 0
if size < 1 << 20:
    print("ESCAPED: only", size)
try:
    for _ in range(90):
        kept.append(os.pipe())
        fcntl.fcntl(kept[-1][1], 1031, 1 << 20)
except OSError:
    pass
