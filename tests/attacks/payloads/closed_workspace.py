# aim: hide the whole workspace from the collection
# wall: what cannot be looked into is told
# expect: ok
# collect: **
# files:
# skipped: unreadable

import os

open("x", "w").write("x")
os.chmod(".", 0)
