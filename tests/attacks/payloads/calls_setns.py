# aim: enter the namespaces of its init, or of anybody
# wall: seccomp
# expect: ok
# control: without seccomp, capabilities

from calls import *

import os

call("setns", os.pidfd_open(1), 0x10000000)
for name in ("user", "mnt", "net", "pid"):
    call("setns", os.open(f"/proc/self/ns/{name}", os.O_RDONLY), 0)
call("listns", BAD, PAGE, 1, 0)
