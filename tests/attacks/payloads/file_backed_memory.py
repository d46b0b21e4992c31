# aim: use memory by files, written and mapped
# wall: meter: under a watch the disk quota
# expect: memory_limit
# expect-watch: disk_limit
# limits: memory_bytes=67108864 disk_bytes=268435456
# limits-watch: memory_bytes=67108864 disk_bytes=41943040
# control: limits memory_bytes=268435456 disk_bytes=268435456

import mmap
import os

try:
    for place in ("/tmp/x", "/dev/shm/x"):
        with open(place, "w+b", 0) as file:
            for _ in range(20):
                file.write(bytes(1 << 20))
            os.truncate(place, 40 << 20)
            held = mmap.mmap(file.fileno(), 40 << 20)
            for at in range(20 << 20, 40 << 20, 1 << 16):
                os.pwrite(file.fileno(), bytes(1 << 16), at)
    print("ESCAPED: 80 MiB")
except OSError:
    os._exit(1)
