# aim: burn CPU in many processes
# wall: CPU meter over the whole run
# expect: cpu_limit
# limits: cpu_seconds=0.5 wall_seconds=20
# hits: cpu

import os

for _ in range(8):
    if os.fork() == 0:
        break
while True:
    pass
