# aim: keep kernel memory that nobody is charged for, in access control lists
# expect: ok
# limits: memory_bytes=33554432
# wall: seccomp: attributes cannot be set
# control: without seccomp

import os
import struct

entries = [(0x01, 6, 0xFFFFFFFF), *[(0x02, 4, 1000)] * 8000, *((tag, 4, 0xFFFFFFFF) for tag in (0x04, 0x10, 0x20))]
words = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
held = 0
try:
    for number in range(500):
        os.mkdir(f"/tmp/{number}")
        for kind in ("access", "default"):
            os.setxattr(f"/tmp/{number}", f"system.posix_acl_{kind}", words)
            held += len(words)
except OSError:
    pass
if held:
    print("ESCAPED:", held)
