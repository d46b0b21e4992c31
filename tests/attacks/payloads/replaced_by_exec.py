# aim: become another program and sleep
# wall: the pidfd follows the process
# expect: timeout
# limits: wall_seconds=1
# hits: wall

import os

os.execv("/bin/sleep", ["sleep", "100"])
