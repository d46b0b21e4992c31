# aim: leave children that nobody waits for
# wall: task limit; init reaps
# expect: ok

import os
import time

for _ in range(40):
    if os.fork() == 0:
        os._exit(0)
time.sleep(0.2)
