# aim: find files that an earlier run left, wherever it could write
# wall: fresh: every run has namespaces and places of its own
# expect: ok
# times: 2
# control: twice

import os

for place in ("/tmp", "/workspace", "/dev/shm"):
    if os.path.exists(f"{place}/trace"):
        print("ESCAPED:", place)
    open(f"{place}/trace", "w").write("x")
