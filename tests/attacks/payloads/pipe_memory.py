# aim: keep memory in pipes
# wall: per-user pipe quota of a uid of its own
# expect: ok
# limits: open_files=1024

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
