# aim: have a program of its own started by the kernel, as release agent, uevent helper or core handler
# wall: mount: there is no /sys, and no control group
# expect: ok
# control: without sysfs

import glob
import os

for path in ("/sys", "/sys/kernel/uevent_helper", "/sys/fs/cgroup", "/cgroup", "/sys/kernel/debug", "/sys/firmware"):
    if os.path.exists(path) and (os.path.isfile(path) or os.listdir(path)):
        print("ESCAPED:", path)
for path in glob.glob("/sys/fs/cgroup/**/release_agent", recursive=True) + ["/proc/sys/kernel/core_pattern"]:
    try:
        os.close(os.open(path, os.O_WRONLY))
        print("ESCAPED: writable", path)
    except OSError:
        pass
