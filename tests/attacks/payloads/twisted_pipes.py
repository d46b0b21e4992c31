# aim: reopen, resize and read our own output pipes
# expect: ok
# stdin: 1000000
# wall: wire: the host's ends are other descriptions
# control: none, it is our supervision that is tried

import fcntl
import os

for number in (0, 1, 2):
    for flags in (os.O_RDWR | os.O_NONBLOCK, os.O_WRONLY | os.O_DIRECT | os.O_NONBLOCK, os.O_RDONLY | os.O_NONBLOCK):
        try:
            again = os.open(f"/proc/self/fd/{number}", flags)
            fcntl.fcntl(again, 1031, 4096)
            os.write(again, b"z" * 3)
            os.read(again, 100)
        except OSError:
            pass
os.close(0)
