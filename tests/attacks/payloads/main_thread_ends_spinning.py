# aim: burn CPU after the main thread ended
# wall: meter: CPU
# expect: cpu_limit
# limits: cpu_seconds=0.3
# hits: cpu
# control: limits cpu_seconds=30.0

import ctypes
import os
import threading
import time


def work():
    while time.process_time() < 0.8:
        pass
    os.write(1, b"ESCAPED")
    os._exit(0)


threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
