# aim: kill all that can be seen
# wall: the pid namespace
# expect: signaled
# signal: SIGKILL
# open: racy: an event of a stream that was just closed is still handled

import os

if os.fork() == 0:
    os.kill(-1, 9)
os.wait()
