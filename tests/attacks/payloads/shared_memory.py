# aim: use shared anonymous memory, which no data limit counts
# wall: memory meter
# expect: memory_limit
# hits: memory

import mmap

held = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 4096):
    held[at] = 1
