# aim: fill the kernel's queue of signals, a quota of the uid
# wall: rlimit: RLIMIT_SIGPENDING is 1024
# expect: ok
# control: without rlimits

import ctypes
import os
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGRTMIN})
libc = ctypes.CDLL(None)
queued = 0
while queued < 2000 and libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), ctypes.c_void_p(0)) == 0:
    queued += 1
if queued > 1024:
    print("ESCAPED:", queued)
