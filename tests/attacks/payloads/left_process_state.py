# aim: leave traces in the process: limits, mask, folder, name, niceness
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

import ctypes
import os
import resource

mask = os.umask(0o077)
name = open("/proc/self/comm").read()
found = {
    "umask": mask != 0o022,
    "folder": os.getcwd() != "/workspace",
    "files": resource.getrlimit(resource.RLIMIT_NOFILE) != (256, 256),
    "name": name == "trace\n",
    "subreaper": bool(ctypes.CDLL(None).prctl(37, ctypes.byref(reaper := ctypes.c_int()), 0, 0, 0) or reaper.value),
}
for name in [name for name, there in found.items() if there]:
    print("ESCAPED:", name)
os.chdir("/tmp")
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
ctypes.CDLL(None).prctl(15, b"trace", 0, 0, 0)
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
