# aim: find a file locked by an earlier run
# wall: fresh: a lock ends with its process, and its file with the run
# expect: ok
# times: 2
# control: twice

import fcntl
import os

if os.path.exists("/tmp/lock"):
    print("ESCAPED: the file")
file = open("/tmp/lock", "w")
globals().setdefault("kept", []).append(file)
fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
shared = open("/etc/passwd")
fcntl.flock(shared, fcntl.LOCK_SH | fcntl.LOCK_NB)
