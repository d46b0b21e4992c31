# aim: leave children that stand still and cannot be ended politely
# wall: pid: the namespace ends with init, and takes everyone along
# expect: ok
# control: without pid, meter
# freed: left

import os
import signal
import time

for _ in range(4):
    child = os.fork()
    if child == 0:
        os.closerange(0, 256)
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(1000)
    os.waitid(os.P_PID, child, os.WSTOPPED)
