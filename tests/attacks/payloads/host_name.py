# aim: learn the name of the machine
# wall: uts
# expect: ok
# control: without uts

import os
import socket

if {os.uname().nodename, socket.gethostname(), open("/proc/sys/kernel/hostname").read().strip()} != {"fumehood"}:
    print("ESCAPED:", os.uname().nodename)
if open("/etc/hostname").read().strip() != "fumehood" or os.path.exists("/etc/machine-id"):
    print("ESCAPED: /etc")
