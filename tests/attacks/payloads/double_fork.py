# aim: leave a child that nothing connects with it
# wall: pid: the namespace ends with init, and takes everyone along
# expect: ok
# control: without pid, meter
# freed: left

import os
import signal
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid() if os.getsid(0) == os.getpid() else os.setpgid(0, 0)
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, 256)
        os.chdir("/")
        time.sleep(1000)
    os._exit(0)
os.wait()
