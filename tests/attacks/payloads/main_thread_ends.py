# aim: end the main thread and go on in another
# wall: the whole process is killed and waited for
# expect: timeout
# limits: wall_seconds=1
# hits: wall

import ctypes
import threading
import time


def work():
    while True:
        time.sleep(0.1)


threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(60, 0)
