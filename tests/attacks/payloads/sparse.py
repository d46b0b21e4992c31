# aim: take a petabyte, or just more than there is, sparse or allocated
# wall: quota: and the limit on a file's size
# expect: ok
# limits: disk_bytes=16777216
# collect: **
# control: limits disk_bytes=67108864

import os

for call in (os.truncate, lambda path, size: os.posix_fallocate(os.open(path, os.O_RDWR), 0, size)):
    for size in (1 << 50, 1 << 62, 20 << 20):
        open("big", "w").close()
        try:
            call("big", size)
            print("ESCAPED:", size)
        except OSError:
            pass
