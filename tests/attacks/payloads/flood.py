# aim: write gigabytes to the output
# wall: output: the server's ceiling; memory stays constant
# expect: output_limit
# hits: output
# control: without flood

import os

data = bytes(1 << 20)
for _ in range(20):
    os.write(1, data)
os.write(2, b"ESCAPED")
