# aim: use shared anonymous memory, which no data limit counts
# wall: meter
# expect: memory_limit
# limits: memory_bytes=67108864
# hits: memory
# control: limits memory_bytes=268435456

import mmap
import time

held = mmap.mmap(-1, 80 << 20)
for at in range(0, 80 << 20, 4096):
    held[at] = 1
time.sleep(0.3)  # a watch looks now and then
print("ESCAPED:", len(held))
