# aim: leave a file on a root, /dev or /run that runs share
# wall: fresh: every run has namespaces and places of its own
# expect: ok
# times: 2
# control: twice

import os

for place in ("/", "/dev", "/run", "/run/job", "/mnt", "/opt", "/etc", "/proc", "/workspace/.."):
    if os.path.exists(f"{place}/trace"):
        print("ESCAPED:", place)
    try:
        open(f"{place}/trace", "w").write("x")
    except OSError:
        pass
if os.path.exists("/tmp/trace"):  # what the control finds, who runs twice in one place
    print("ESCAPED: /tmp")
open("/tmp/trace", "w").write("x")
