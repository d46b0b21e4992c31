"""Programs that spend, for the tests of meters."""

HOG = "x = bytearray(128 << 20); print(len(x))"
BOMB = """
import os, time
made = 0
try:
    while made < 50:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError:
    pass
print(made, flush=True)
time.sleep(60)
"""
SPIN = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\nprint('spun')"
