# aim: run before everybody else
# wall: rlimit: no niceness below 0, no real-time priority
# expect: ok
# control: none, no uid but root's may without limits either

import os

for what, act in {
    "nice": lambda: os.setpriority(os.PRIO_PROCESS, 0, -5),
    "nicer": lambda: os.nice(-1),
    "real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
}.items():
    try:
        act()
        print("ESCAPED:", what)
    except OSError:
        pass
