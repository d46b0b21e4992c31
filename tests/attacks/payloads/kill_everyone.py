# aim: kill all that can be seen
# expect: signaled
# signal: SIGKILL
# wall: pid: there is nobody else
# control: none, without it the signal would go to all that is the uid's

import os

if os.fork() == 0:
    os.kill(-1, 9)
os.wait()
