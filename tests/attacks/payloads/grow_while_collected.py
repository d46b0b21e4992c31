# aim: change a file while it is collected
# wall: everything is dead before the walk begins
# expect: ok
# collect: a
# files: a

import os

open("a", "w").write("1")
if os.fork() == 0:
    os.setsid()
    while True:
        open("grow", "ab").write(b"x" * 4096)
os._exit(0)
