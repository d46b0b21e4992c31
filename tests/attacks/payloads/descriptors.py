# aim: use a descriptor that was left open
# expect: ok
# wall: init: descriptors 0, 1, 2 alone
# control: without descriptors

import os

for number in range(3, 1024):
    try:
        os.fstat(number)
        print("ESCAPED:", number, os.readlink(f"/proc/self/fd/{number}"))
    except OSError:
        pass
