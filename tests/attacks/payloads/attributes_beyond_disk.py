# aim: store bytes in extended attributes, past the disk quota
# expect: ok
# limits: disk_bytes=1048576
# wall: seccomp: attributes cannot be set
# control: without seccomp

import os

stored = 0
try:
    for number in range(1000):
        os.setxattr("/tmp", f"user.{number}", bytes(32768))
        stored += 32768
except OSError:
    pass
if stored > 1 << 20:
    print("ESCAPED:", stored)
