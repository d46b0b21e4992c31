# aim: fill the process table with threads
# wall: task limit
# expect: process_limit
# expect-watch: error
# hits: processes
# hits-watch:

import _thread
import os
import time

try:
    while True:
        _thread.start_new_thread(time.sleep, (100,))
except RuntimeError:
    os._exit(3)
