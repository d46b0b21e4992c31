# aim: keep memory in files that have no name and no mapping
# wall: meter: under a watch seccomp
# expect: memory_limit
# expect-watch: error
# limits: memory_bytes=67108864
# control: limits memory_bytes=268435456
# control-watch: without seccomp

import os

held = 0
for _ in range(10):
    descriptor = os.memfd_create("x")
    for _ in range(8):
        held += os.write(descriptor, bytes(1 << 20))
print("ESCAPED:", held)
