# aim: keep memory in pipes
# expect: ok
# limits: open_files=1024
# wall: uid: the kernel's quota of pipes for any uid but root's
# control: none, no uid but root's is without it

import fcntl
import os

held = 0
try:
    for _ in range(400):
        _, writer = os.pipe()
        try:
            fcntl.fcntl(writer, 1031, 1 << 20)
        except OSError:
            pass
        os.set_blocking(writer, False)
        try:
            while True:
                held += os.write(writer, bytes(65536))
        except BlockingIOError:
            pass
except OSError:
    pass
if held > 96 << 20:
    print("ESCAPED:", held)
