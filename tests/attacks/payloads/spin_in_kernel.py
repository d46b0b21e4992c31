# aim: burn CPU in calls, where the interpreter's own clock does not count it
# wall: meter: CPU, system time too
# expect: cpu_limit
# limits: cpu_seconds=0.3
# hits: cpu
# control: limits cpu_seconds=30.0

import os
import time

file = os.open("/dev/zero", os.O_RDONLY)
buffer = bytearray(1 << 20)
while time.process_time() < 0.8:
    os.readv(file, [buffer] * 8)
print("ESCAPED")
