# aim: take a petabyte, sparse or allocated
# wall: file size limit and the tmpfs quota
# expect: ok
# limits: disk_bytes=16777216
# collect: **

import os

for call in (os.truncate, lambda path, size: os.posix_fallocate(os.open(path, os.O_RDWR), 0, size)):
    for size in (1 << 50, 1 << 62, 20 << 20):
        open("big", "w").close()
        try:
            call("big", size)
            print("ESCAPED:", size)
        except OSError:
            pass
