# aim: close every descriptor and go on
# expect: error
# wall: verdict: the end of a stream is not the end of the run
# control: none, there is only the verdict

import os
import time

os.closerange(0, 256)
time.sleep(0.3)
os._exit(3)
