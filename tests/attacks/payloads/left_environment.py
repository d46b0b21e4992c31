# aim: leave a variable for later programs
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

import os

if "TRACE" in os.environ or os.environ["PATH"].startswith("/tmp"):
    print("ESCAPED")
os.environ["TRACE"] = "x"
os.environ["PATH"] = "/tmp:" + os.environ["PATH"]
os.putenv("TRACE2", "x")
if b"TRACE" in open("/proc/self/environ", "rb").read():
    print("ESCAPED: environ")
