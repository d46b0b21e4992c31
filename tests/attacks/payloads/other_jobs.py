# aim: read the job of another run, or what init was told of this one
# wall: mount: a run's source is in a place of its own
# expect: ok
# control: without mount

import os

found = [os.path.join(folder, name) for folder, _, names in os.walk("/run") for name in names]
if found != ["/run/job/main.py"]:
    print("ESCAPED:", found)
for path in ("/run/guest.bin", "/run/newroot", "/run/fumehood", "/run/scratch", os.environ["CANARY_FILE"]):
    if os.path.exists(path):
        print("ESCAPED:", path)
