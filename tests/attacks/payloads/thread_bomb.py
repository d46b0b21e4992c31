# aim: have more threads than there may be tasks
# wall: meter: under a watch RLIMIT_NPROC
# expect: process_limit
# expect-watch: error
# limits: processes=16
# hits: processes
# hits-watch:
# control: limits processes=64

import _thread
import os
import time

try:
    for _ in range(40):
        _thread.start_new_thread(time.sleep, (100,))
except RuntimeError:
    os._exit(3)
print("ESCAPED: 40 threads")
