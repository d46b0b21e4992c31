# aim: die of a signal that the C library keeps for itself
# wall: the name of any signal can be told
# expect: signaled
# signal: 33

import os

os.kill(os.getpid(), 33)
