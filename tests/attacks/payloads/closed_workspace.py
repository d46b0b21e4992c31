# aim: hide the whole workspace from the collection
# expect: ok
# collect: **
# files:
# skipped: unreadable
# wall: collection: what cannot be looked into is told
# control: without capabilities
# freed: says path='x'

import os

open("x", "w").write("x")
os.chmod(".", 0)
