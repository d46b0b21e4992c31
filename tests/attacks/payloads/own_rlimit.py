# aim: hit a limit of its own and blame the sandbox
# expect: error
# exit: 4
# hits:
# wall: verdict: it rests on the kernel's counts
# control: none, there is only the verdict

import os
import resource

resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
try:
    os.fork()
except OSError:
    os._exit(4)
