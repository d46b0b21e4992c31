# aim: fill the process table
# wall: task limit
# expect: timeout
# limits: wall_seconds=1
# hits: wall processes
# hits-watch: wall

import os

while True:
    try:
        os.fork()
    except OSError:
        pass
