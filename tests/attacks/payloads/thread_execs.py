# aim: exec from a thread that is not the main one
# wall: the pid stays the leader's
# expect: error

import os
import threading
import time

threading.Thread(target=lambda: os.execv("/bin/false", ["false"])).start()
time.sleep(5)
