# aim: break or delay supervision by a descendant that only holds the streams
# wall: events are asked for anew after the end
# expect: ok
# stdin: 3000000
# times: 80
# at-once: 8

import os
import time

if os.fork() == 0:
    time.sleep(1000)
os._exit(0)
