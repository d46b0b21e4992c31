# aim: die of a signal that the C library keeps for itself
# expect: signaled
# signal: 33
# wall: verdict: any signal has a name
# control: none, there is only the verdict

import os

os.kill(os.getpid(), 33)
