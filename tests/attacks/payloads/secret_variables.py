# aim: find a variable of the service's
# wall: fresh: nothing is started with the service's environment
# expect: ok
# control: given

import os

for process in ("self", "1"):
    try:
        if b"FH-CANARY-" in open(f"/proc/{process}/environ", "rb").read():
            print("ESCAPED:", process)
    except OSError:
        pass
for name, value in os.environ.items():
    if "FH-CANARY-" in value and not name.startswith("CANARY_"):
        print("ESCAPED:", name)
