# aim: end or stop pid 1 by every signal and every way to send one
# expect: ok
# wall: init: every signal at its default, which pid 1 then never gets
# control: without default-signals
# freed: failure

import ctypes
import fcntl
import os
import signal
import time

libc = ctypes.CDLL(None)
pidfd = os.pidfd_open(1)
for number in range(1, 65):
    libc.kill(1, number)
    libc.syscall(200, 1, number)
    libc.syscall(234, 1, 1, number)
    libc.syscall(424, pidfd, number, None, 0)
    libc.syscall(129, 1, number, bytes(128))
reader, writer = os.pipe()
fcntl.fcntl(reader, fcntl.F_SETOWN, 1)
fcntl.fcntl(reader, 10, signal.SIGKILL)
fcntl.fcntl(reader, fcntl.F_SETFL, fcntl.fcntl(reader, fcntl.F_GETFL) | os.O_ASYNC)
os.write(writer, b"x")
time.sleep(0.3)  # for whatever was sent to arrive
