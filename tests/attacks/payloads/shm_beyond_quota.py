# aim: fill /dev/shm, which programs take for memory
# wall: quota: it is a folder of the one tmpfs
# expect: disk_limit
# limits: disk_bytes=4194304
# hits: disk
# control: limits disk_bytes=67108864

import os

with open("/dev/shm/x", "wb", 0) as file:
    try:
        for _ in range(8):
            file.write(bytes(1 << 20))
        print("ESCAPED: 8 MiB")
    except OSError:
        pass
os._exit(1)
