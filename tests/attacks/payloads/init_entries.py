# aim: read what /proc tells of pid 1
# expect: ok
# wall: init: not dumpable
# control: without not-dumpable

import os

for name in (
    "environ",
    "mem",
    "maps",
    "smaps",
    "auxv",
    "io",
    "stack",
    "syscall",
    "personality",
    "pagemap",
    "numa_maps",
):
    try:
        if open(f"/proc/1/{name}", "rb").read(1):
            print("ESCAPED:", name)
    except OSError:
        pass
for name in ("root", "cwd", "exe", "fd/0", "fd/3", "ns/user", "ns/mnt", "ns/net"):
    try:
        print("ESCAPED:", name, os.readlink(f"/proc/1/{name}"))
    except OSError:
        pass
for name in ("fd", "map_files", "fdinfo", "task/1/fd"):
    try:
        print("ESCAPED:", name, os.listdir(f"/proc/1/{name}"))
    except OSError:
        pass
