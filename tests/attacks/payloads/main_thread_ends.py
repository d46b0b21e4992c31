# aim: end the main thread and go on in another
# wall: clock: the whole process is killed and waited for
# expect: timeout
# limits: wall_seconds=0.4
# hits: wall
# control: limits wall_seconds=30.0

import ctypes
import os
import threading
import time


def work():
    time.sleep(0.8)
    os.write(1, b"ESCAPED")
    os._exit(0)


threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
