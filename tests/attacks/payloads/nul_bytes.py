# aim: write NUL bytes, past the limit
# wall: output: kept to its limit, counted to its end
# expect: ok
# hits: output
# limits: output_bytes=1000
# control: limits output_bytes=100000

import os

os.write(1, bytes(60000))
os.write(1, b"ESCAPED")
