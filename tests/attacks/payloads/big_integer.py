# aim: compute without end in one call of C
# wall: clock: outside, not in the interpreter
# expect: timeout
# limits: wall_seconds=0.4
# hits: wall
# control: limits wall_seconds=60.0

import time

before = time.monotonic()
power = 1000
while time.monotonic() - before < 0.8:
    power *= 2
    pow(7, power, (1 << 40000) - 1)
print("ESCAPED")
