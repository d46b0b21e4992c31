# aim: have more processes than allowed
# wall: meter: under a watch RLIMIT_NPROC
# expect: process_limit
# expect-watch: error
# limits: processes=16
# hits: processes
# hits-watch:
# control: limits processes=64

import os
import time

made = 0
try:
    for _ in range(40):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        made += 1
except OSError:
    os._exit(1)
print("ESCAPED:", made)
