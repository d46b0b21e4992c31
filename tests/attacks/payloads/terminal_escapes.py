# aim: send escape sequences to whoever reads the output
# wall: output: it is data, exact and counted
# expect: ok
# says: \x1b[2J
# control: none, there is only the output

import os

os.write(1, b"\x1b]0;title\x07\x1b[2J\x1b[8m" + b"\x9b2J\r\n\x00\x08")
print(repr("\x1b[2J"))
