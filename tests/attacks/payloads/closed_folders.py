# aim: hide files from the collection and have nothing said of it
# wall: what cannot be looked into is told
# expect: ok
# collect: closed/x
# files:
# skipped: unreadable

import os

os.mkdir("closed")
open("closed/x", "w").write("x")
os.chmod("closed", 0)
