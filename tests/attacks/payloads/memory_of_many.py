# aim: use memory in many processes at once
# wall: meter: over the whole run
# expect: memory_limit
# limits: memory_bytes=67108864
# hits: memory
# control: limits memory_bytes=536870912

import os
import time

children = []
for _ in range(5):
    children.append(os.fork())
    if children[-1] == 0:
        held = bytearray(20 << 20)
        time.sleep(0.5)
        os._exit(0 if held else 1)
if all(os.waitpid(child, 0)[1] == 0 for child in children):
    print("ESCAPED: 100 MiB at once")
os._exit(7)
