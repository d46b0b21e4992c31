# aim: use what only old programs have used
# wall: seccomp
# expect: ok
# control: without seccomp
# machines: x86_64

from calls import *

call("uselib", BAD)
call("ustat", 0, BAD)
call("sysfs", 3, 0, 0)
call("inotify_init")
for name in ("_sysctl", "nfsservctl", "create_module", "query_module", "vserver", "security"):
    call(name, 0, 0, 0)
