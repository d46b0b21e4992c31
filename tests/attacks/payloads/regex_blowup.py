# aim: hold the interpreter in one call of C
# wall: wall clock outside
# expect: timeout
# limits: wall_seconds=1
# hits: wall

import re

re.match(r"(a+)+$", "a" * 60 + "b")
