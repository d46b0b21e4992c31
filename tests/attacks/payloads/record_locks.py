# aim: keep kernel memory that nobody is charged for, in record locks
# wall: meter: Linux has neither a charge nor a limit for them
# expect: memory_limit
# limits: memory_bytes=16777216 inodes=1000
# open: Linux has neither a charge nor a limit for them (docs/limits.md)
# control: none, it gets through as it is

import fcntl
import os

held = 0
for number in range(250):
    file = os.open(f"/tmp/{number}", os.O_RDWR | os.O_CREAT)
    for at in range(400):
        fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * at)
        held += 200
if held > 16 << 20:
    print("ESCAPED:", held)
