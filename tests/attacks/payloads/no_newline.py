# aim: write megabytes without the end of a line, and a word at their end
# wall: output: kept to its limit, counted to its end
# expect: ok
# hits: output
# limits: output_bytes=100000
# control: limits output_bytes=4000000

import os

for _ in range(30):
    os.write(1, b"x" * 100000)
os.write(1, b"ESCAPED")
