# aim: make and open devices
# wall: no capabilities, nodev
# expect: ok

import os
import stat

for major, minor in ((1, 1), (8, 0), (254, 0), (10, 200), (1, 3)):
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        try:
            os.mknod(f"/tmp/d{kind}{major}.{minor}", kind | 0o666, os.makedev(major, minor))
            print("ESCAPED:", major, minor)
        except OSError:
            pass
known = {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "shm"}
print("".join(f"ESCAPED: {name}\n" for name in os.listdir("/dev") if name not in known))
