# aim: starve its init, so that our own account fails, or escape its processors
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import os

call("setpriority", 0, 1, 19)
call("setpriority", 2, 0, 19)
call("setpriority", 1 | HIGH, 0, 19)
call("ioprio_set", 1, 1, 3 << 13)
call("ioprio_set", 3, 0, 3 << 13)
call("sched_setscheduler", 1, 5, PAGE)
call("sched_setscheduler", 0, 99, PAGE)
call("sched_setparam", 1, PAGE)
call("sched_setattr", 1, PAGE, 0)
call("sched_setaffinity", 1, 8, BAD)
call("sched_setaffinity", 0, 8, BAD)
os.nice(1)  # itself it may slow down
