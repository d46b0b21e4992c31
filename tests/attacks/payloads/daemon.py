# aim: survive the run
# expect: ok
# wall: pid: the namespace ends with init, and takes everyone along
# control: without pid, meter
# freed: left

import os
import signal
import time

for number in range(1, 32):
    try:
        if number != signal.SIGCHLD:
            signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        while True:
            time.sleep(1)
    os._exit(0)
os.wait()
