# aim: burn CPU after the main thread ended
# wall: CPU meter
# expect: cpu_limit
# limits: cpu_seconds=0.5
# hits: cpu

import ctypes
import threading


def work():
    while True:
        pass


threading.Thread(target=work).start()
ctypes.CDLL(None).syscall(60, 0)
