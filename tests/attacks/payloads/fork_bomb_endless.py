# aim: fill the process table without end, and outlast the deadline
# wall: clock: and the task limit
# expect: timeout
# hits: wall processes
# hits-watch: wall
# control: limits wall_seconds=30.0
# limits: wall_seconds=1.2
# paced: filling the process table takes a slow kernel longer

import os
import time

main = os.getpid()
until = time.monotonic() + 3 * float(os.environ["PACE"])
while time.monotonic() < until:
    try:
        os.fork()
    except OSError:
        pass
if os.getpid() == main:
    print("ESCAPED")
os._exit(0)
