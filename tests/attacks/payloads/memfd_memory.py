# aim: keep memory in files that have no name and no mapping
# wall: memory meter
# expect: memory_limit
# expect-watch: error
# limits: memory_bytes=134217728

import os

held = 0
for _ in range(40):
    descriptor = os.memfd_create("x")
    for _ in range(8):
        held += os.write(descriptor, bytes(1 << 20))
print("ESCAPED:", held)
