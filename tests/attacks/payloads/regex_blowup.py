# aim: hold the interpreter in one call of C that no signal interrupts
# wall: clock: outside, not in the interpreter
# expect: timeout
# limits: wall_seconds=0.4
# hits: wall
# control: limits wall_seconds=60.0

import re
import time

before = time.monotonic()
length = 16
while time.monotonic() - before < 0.8:
    re.match(r"(a+)+$", "a" * length + "b")
    length += 1
print("ESCAPED")
