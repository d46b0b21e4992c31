# aim: fill the process table without end, and outlast the deadline
# wall: clock: and the task limit
# expect: timeout
# hits: wall processes
# hits-watch: wall
# control: limits wall_seconds=30.0
# limits: wall_seconds=1.2

import os
import time

main = os.getpid()
until = time.monotonic() + 3
while time.monotonic() < until:
    try:
        os.fork()
    except OSError:
        pass
if os.getpid() == main:
    print("ESCAPED")
os._exit(0)
