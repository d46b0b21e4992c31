# aim: burn CPU in threads
# wall: meter: CPU over the whole run
# expect: cpu_limit
# limits: cpu_seconds=0.3
# hits: cpu
# control: limits cpu_seconds=30.0

import hashlib
import threading
import time


def work():
    while time.process_time() < 0.8:
        hashlib.sha256(bytes(1 << 20))


threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print("ESCAPED")
