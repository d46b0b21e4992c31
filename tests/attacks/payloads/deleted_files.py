# aim: hide what it stores by deleting it while it is open
# wall: quota: what is open still counts
# expect: error
# limits: disk_bytes=4194304
# control: limits disk_bytes=67108864

import os

stored = 0
kept = []
try:
    for number in range(8):
        kept.append(os.open(f"/tmp/{number}", os.O_RDWR | os.O_CREAT))
        os.unlink(f"/tmp/{number}")
        stored += os.write(kept[-1], bytes(1 << 20))
except OSError:
    pass
if stored > 4 << 20:
    print("ESCAPED:", stored)
os._exit(1)
