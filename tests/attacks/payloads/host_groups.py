# aim: learn where in the host's control groups it is
# wall: cgroupns
# expect: ok
# control: without cgroupns
# control-uml: none, the tests are at the top of its hierarchy

import os

known = {"", "fumehood", ".."}
for line in open("/proc/self/cgroup"):
    parts = line.rstrip("\n").split(":", 2)[2].split("/")
    if not all(part in known or len(part) == 33 for part in parts):
        print("ESCAPED:", line)
print(os.readlink("/proc/self/ns/cgroup"))
if "cgroup" in {line.split()[2] for line in open("/proc/self/mounts")}:
    print("ESCAPED: it is mounted")
