# aim: learn the service's pid, run count and paths
# wall: nothing of the host is named
# expect: ok
# open: mountinfo shows the stage folder and cgroup the group, both named after the service's pid and start

import re

for name in ("mountinfo", "cgroup", "mounts"):
    text = open(f"/proc/self/{name}").read()
    for found in re.findall(r"\S*stage-\d+-\S*|\S*fumehood/\d+-\S*", text):
        print("ESCAPED:", name, found)
