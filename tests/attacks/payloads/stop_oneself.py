# aim: stand still where no clock seems to count
# wall: wall clock
# expect: timeout
# limits: wall_seconds=1
# hits: wall

import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
