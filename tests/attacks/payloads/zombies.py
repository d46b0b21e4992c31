# aim: use up the tasks with dead orphans, for oneself and for whoever shares the count
# wall: init: it reaps whoever is left to it
# expect: ok
# limits: processes=16
# control: without reaping

import os
import time

made = 0
try:
    for _ in range(40):
        if os.fork() == 0:
            if os.fork() == 0:
                os._exit(0)
            os._exit(0)
        os.wait()
        made += 1
        time.sleep(0.01)
except OSError:
    print("ESCAPED: no task was left after", made)
