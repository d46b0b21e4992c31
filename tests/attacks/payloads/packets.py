# aim: keep the service busy with a packet for each byte
# wall: output: what waits in the pipe is read at once
# expect: ok
# control: none, it is our supervision that is tried

import fcntl
import os
import time

os.write(2, b"x")
for number in (1, 2):
    fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_DIRECT)
until = time.monotonic() + 0.5
while time.monotonic() < until:
    for _ in range(100):
        os.write(1, b"x")
