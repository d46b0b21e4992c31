# aim: exec from a thread that is not the main one
# expect: error
# wall: verdict: the pid stays the leader's
# control: none, there is only the verdict

import os
import threading
import time

threading.Thread(target=lambda: os.execv("/bin/false", ["false"])).start()
time.sleep(5)
