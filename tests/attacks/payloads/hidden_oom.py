# aim: survive an out-of-memory kill of a child and look clean
# wall: meter: limits_hit names it all the same
# expect: ok
# limits: memory_bytes=67108864
# hits: memory
# meters: cgroup
# control: limits memory_bytes=268435456

import os

if os.fork() == 0:
    held = bytearray(80 << 20)
    os._exit(0)
if os.wait()[1] == 0:
    print("ESCAPED: a child had 80 MiB")
