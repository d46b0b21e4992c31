# aim: store more than the disk quota by using every writable place
# expect: disk_limit
# limits: disk_bytes=8388608
# hits: disk
# wall: quota: one tmpfs behind all places
# control: limits disk_bytes=67108864

import os

stored = 0
for number in range(8):
    for place in ("/tmp", "/workspace", "/dev/shm", "/mnt/data"):
        try:
            with open(f"{place}/{place[1:3]}{number}", "wb", 0) as file:
                for _ in range(64):
                    stored += file.write(bytes(65536))
        except OSError:
            pass
if stored > 8 << 20:
    print("ESCAPED:", stored)
os._exit(1)
