# aim: hide memory behind main threads that have ended
# wall: meter
# expect: memory_limit
# limits: memory_bytes=67108864
# control: limits memory_bytes=536870912

import ctypes
import os
import threading
import time


def hog():
    time.sleep(0.2)
    held = bytearray(25 << 20)
    time.sleep(0.5)
    os._exit(0 if held is not None else 1)


children = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        threading.Thread(target=hog).start()
        ctypes.CDLL(None).pthread_exit(None)
    children.append(child)
survived = [os.waitpid(child, 0)[1] for child in children].count(0)
if survived > 2:
    print("ESCAPED:", survived * 25, "MiB at once")
os._exit(5)
