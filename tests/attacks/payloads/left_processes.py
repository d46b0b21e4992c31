# aim: find a process of an earlier run
# wall: pid: a namespace of its own for each run
# expect: ok
# times: 2
# control: twice

import os
import time

others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
if others:
    print("ESCAPED:", others)
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
    os._exit(0)
