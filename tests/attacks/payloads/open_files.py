# aim: hold more files than allowed
# wall: rlimit: RLIMIT_NOFILE, which cannot be raised
# expect: ok
# limits: open_files=32
# control: limits open_files=256

import os
import resource

try:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))
    print("ESCAPED: raised")
except (OSError, ValueError):
    pass
kept = []
try:
    for _ in range(40):
        kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
if len(kept) > 32:
    print("ESCAPED:", len(kept))
