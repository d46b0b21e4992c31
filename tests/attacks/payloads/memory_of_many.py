# aim: use memory in many processes at once
# wall: memory meter over the whole run
# expect: memory_limit
# limits: memory_bytes=268435456 wall_seconds=20
# hits: memory

import os
import time

for _ in range(20):
    if os.fork() == 0:
        held = bytearray(100 << 20)
        time.sleep(5)
        os._exit(0)
for _ in range(20):
    os.wait()
os._exit(7)
