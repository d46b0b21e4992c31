# aim: gain rights by the mode of a file
# wall: no_new_privs
# expect: ok
# control: none, bwrap sets it as well

import os
import shutil

shutil.copy("/bin/true", "/tmp/true")
os.chmod("/tmp/true", 0o6755)
lines = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
if lines["NoNewPrivs"] != "1":
    print("ESCAPED: new privileges are possible")
for mount in open("/proc/self/mounts"):
    _, place, kind, options, *_ = mount.split()
    if "nosuid" not in options.split(","):
        print("ESCAPED: nosuid is missing at", place)
