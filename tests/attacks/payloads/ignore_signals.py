# aim: outlive the deadline by ignoring signals
# wall: SIGKILL
# expect: timeout
# limits: wall_seconds=1
# hits: wall

import signal
import time

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    time.sleep(1)
