# aim: burn CPU in processes too short to be seen
# wall: CPU meter
# expect: cpu_limit
# limits: cpu_seconds=0.5 wall_seconds=20
# hits: cpu

import os
import time

while True:
    if os.fork() == 0:
        if os.fork() == 0:
            until = time.process_time() + 0.03
            while time.process_time() < until:
                pass
            os._exit(0)
        os._exit(0)
    os.wait()
    time.sleep(0.03)
