# aim: spend both times at once, so that the verdict is unclear
# wall: clock
# expect: any
# limits: wall_seconds=0.5 cpu_seconds=0.45
# says: begun
# control: limits wall_seconds=30.0 cpu_seconds=30.0

import time

print("begun")
while time.process_time() < 0.2:
    pass
until = time.monotonic() + 0.8
while time.monotonic() < until:
    pass
print("ESCAPED")
