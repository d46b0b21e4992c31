# aim: use a right of root's over files, or more users than one
# wall: user: no capability, one user
# expect: ok
# control: without capabilities

import os

open("closed", "w").close()
os.chmod("closed", 0)
for what, act in {
    "open a closed file": lambda: open("closed"),
    "give a file away": lambda: os.chown("closed", 0, 0),
    "be root": lambda: os.setuid(0),
    "be nobody": lambda: os.setuid(65534),
    "be in other groups": lambda: os.setgroups([0, 4, 6]),
    "set the group bit of another": lambda: os.chown("closed", -1, 4),
}.items():
    try:
        act()
        print("ESCAPED:", what)
    except OSError:
        pass
lines = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    if int(lines[name], 16):
        print("ESCAPED:", name, lines[name])
