# aim: hit a limit of its own and blame the sandbox
# wall: verdicts rest on the kernel's counts
# expect: error
# exit: 4
# hits:

import os
import resource

resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    os.fork()
except OSError:
    os._exit(4)
