# aim: change a file while another is collected, told by a lease when the collection has begun
# wall: collection: everybody is dead before the walk begins
# expect: ok
# collect: *
# control: without killing
# says: before

import fcntl
import os
import signal

open("a", "w").write("x")
for number in range(70):  # what is read between the two
    open(f"b{number}", "wb").write(bytes(200_000))
open("z", "w").write("before")
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
    leased = os.open("a", os.O_RDWR)
    fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    os.write(writer, b"x")
    signal.sigwait({signal.SIGIO})  # somebody opens it
    open("z", "w").write("ESCAPED")
    fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    os._exit(0)
os.read(reader, 1)
os._exit(0)
