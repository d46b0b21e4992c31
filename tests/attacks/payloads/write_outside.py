# aim: write where nothing may be written
# expect: ok
# wall: mount: the root is read-only
# control: without read-only

import os

places = ["/x", "/usr/x", "/etc/x", "/run/x", "/run/job/x", "/dev/x", "/opt/x", "/opt/python/x", "/mnt/x", "/proc/x"]
files = [
    "/run/job/main.py",
    "/etc/hosts",
    "/etc/passwd",
    "/usr/bin/env",
    "/proc/self/exe",
    "/proc/self/mem",
    "/proc/1/mem",
    "/proc/self/oom_score_adj",
    "/proc/1/oom_score_adj",
    "/proc/self/uid_map",
    "/proc/self/setgroups",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sysrq-trigger",
    "/proc/self/clear_refs",
    "/proc/1/timerslack_ns",
    "/dev/kmsg",
    "/dev/mem",
    "/dev/vda",
    "/dev/sda",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/kernel/uevent_helper",
    os.environ["CANARY_FILE"],
]
for path in places + files:
    for flags in (os.O_WRONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_TRUNC):
        try:
            os.close(os.open(path, flags, 0o666))
            print("ESCAPED:", path)
        except OSError:
            pass
for call, arguments in (
    (os.mkdir, ("/y",)),
    (os.rename, ("/etc", "/etc2")),
    (os.unlink, ("/run/job/main.py",)),
    (os.chmod, ("/etc/passwd", 0o666)),
    (os.chmod, ("/dev/null", 0o600)),
    (os.rename, ("/workspace", "/w")),
    (os.link, ("/etc/passwd", "/tmp/p")),
    (os.symlink, ("/tmp", "/etc/t")),
    (os.rmdir, ("/dev/shm",)),
):
    try:
        call(*arguments)
        print("ESCAPED:", call.__name__, arguments)
    except OSError:
        pass
