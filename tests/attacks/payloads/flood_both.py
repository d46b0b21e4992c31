# aim: stay below the ceiling on each stream and above it on both
# wall: output: the server's ceiling is over both
# expect: output_limit
# hits: output
# control: without flood
# collect: told

import os

data = bytes(1 << 20)
os.write(2, b"ESC")
if os.fork() == 0:
    for _ in range(10):
        os.write(1, data)
    os._exit(0)
for _ in range(10):
    os.write(2, data)
os.wait()
open("told", "w").write("ESCAPED")
