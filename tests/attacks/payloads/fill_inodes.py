# aim: make more files than the inode quota
# wall: quota: nr_inodes of the tmpfs
# expect: disk_limit
# limits: inodes=1000
# hits: disk
# control: limits inodes=8192

import os

made = 0
for place in ("/tmp", "/workspace", "/dev/shm", "/mnt/data"):
    try:
        for number in range(600):
            os.symlink("x" * 100, f"{place}/{place[1:3]}{number}")
            made += 1
    except OSError:
        pass
if made > 1000:
    print("ESCAPED:", made)
os._exit(1)
