# aim: stand still where no clock seems to count
# wall: clock
# expect: timeout
# limits: wall_seconds=0.4
# hits: wall
# control: limits wall_seconds=30.0

import os
import signal
import time

main = os.getpid()
if os.fork() == 0:
    time.sleep(0.8)
    os.kill(main, signal.SIGCONT)
    os._exit(0)
os.kill(main, signal.SIGSTOP)
print("ESCAPED")
