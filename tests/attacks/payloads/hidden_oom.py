# aim: survive an out-of-memory kill of a child and look clean
# wall: limits_hit names it all the same
# expect: ok
# hits: memory
# hits-watch:
# meters: cgroup

import os

if os.fork() == 0:
    bytearray(600 << 20)
    os._exit(0)
os.wait()
