# aim: burn CPU in many processes
# wall: meter: CPU over the whole run
# expect: cpu_limit
# limits: cpu_seconds=0.4
# hits: cpu
# control: limits cpu_seconds=30.0

import os
import time

for _ in range(4):
    if os.fork() == 0:
        while time.process_time() < 0.25:
            pass
        os._exit(0)
for _ in range(4):
    os.wait()
print("ESCAPED")
