# aim: kill all that can be seen
# wall: the pid namespace
# expect: signaled
# signal: SIGKILL

import os

if os.fork() == 0:
    os.kill(-1, 9)
os.wait()
