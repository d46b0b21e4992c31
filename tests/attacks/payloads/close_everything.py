# aim: close every descriptor and go on
# wall: the end of a stream is not the end of the run
# expect: error

import os
import time

os.closerange(0, 256)
time.sleep(0.3)
os._exit(3)
