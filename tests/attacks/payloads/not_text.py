# aim: write what no decoder likes
# expect: ok
# hits: output
# wall: output: replacement, exact counts
# control: none, there is only the output

import os

os.write(1, b"\xff\xfe\x00\xed\xa0\x80\xf4\x90\x80\x80" * 20000)
os.write(2, b"\x1b]0;title\x07\x1b[2J\r\n")
