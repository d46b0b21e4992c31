# aim: have a child survive the deadline that ends its parent
# wall: pid: the namespace ends with init, and takes everyone along
# expect: timeout
# limits: wall_seconds=0.3
# control: without pid, meter
# freed: left

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        time.sleep(1000)
    os._exit(0)
time.sleep(1000)
