# aim: learn the service's pid, when it started and how many runs it has had
# expect: ok
# wall: mount: what guests can see of the host has random names
# control: without random-names

import re

for process in ("self", "1"):
    for name in ("mountinfo", "cgroup", "mounts", "mountstats"):
        try:
            text = open(f"/proc/{process}/{name}").read()
        except OSError:
            continue
        for found in re.findall(r"\S*stage-[^/\s]+|\S*fumehood/(?!runtimes|stage)[^/\s]+", text):
            if not re.fullmatch(r"\S*(/stage-|fumehood/)[0-9a-f]{16}(\.[0-9a-f]{16})?", found):
                print("ESCAPED:", process, name, found)
