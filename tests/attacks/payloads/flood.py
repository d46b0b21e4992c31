# aim: write gigabytes to both streams
# wall: flood ceiling, constant memory
# expect: output_limit
# hits: output

import os

data = bytes(1 << 20)
stream = 1 if os.fork() else 2
while True:
    os.write(stream, data)
