# aim: break or delay supervision by a descendant that only holds the streams
# expect: ok
# stdin: 3000000
# at-once: 8
# wall: verdict: the run ends with its main process
# control: none, it is our supervision that is tried
# times: 32

import os
import time

if os.fork() == 0:
    time.sleep(1000)
os._exit(0)
