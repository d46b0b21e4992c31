# aim: hide files from the collection and have nothing said of it
# expect: ok
# collect: closed/x
# files:
# skipped: unreadable
# wall: collection: what cannot be looked into is told
# control: without capabilities
# freed: says path='closed/x'

import os

os.mkdir("closed")
open("closed/x", "w").write("x")
os.chmod("closed", 0)
