# aim: become another program and sleep
# wall: clock: the pidfd follows the process
# expect: timeout
# limits: wall_seconds=0.4
# hits: wall
# control: limits wall_seconds=30.0

import os

os.execv("/bin/sh", ["sh", "-c", "sleep 0.8; echo ESCAPED"])
