# aim: burn CPU in processes too short to be seen
# wall: meter: CPU
# expect: cpu_limit
# limits: cpu_seconds=0.4
# hits: cpu
# control: limits cpu_seconds=30.0

import os
import time

for _ in range(30):
    if os.fork() == 0:
        if os.fork() == 0:
            until = time.process_time() + 0.03
            while time.process_time() < until:
                pass
        os._exit(0)
    os.wait()
    time.sleep(0.03)
print("ESCAPED")
