# aim: change the machine or a process by writing to /proc
# wall: mount: /proc is read-only, and its files are root's
# expect: ok
# control: without read-only

import os

for name in (
    "self/oom_score_adj",
    "self/comm",
    "self/coredump_filter",
    "self/clear_refs",
    "self/timerslack_ns",
    "self/sched",
    "self/autogroup",
    "self/loginuid",
    "self/attr/current",
    "self/uid_map",
    "self/setgroups",
    "1/oom_score_adj",
    "1/timerslack_ns",
    "1/mem",
    "sys/kernel/core_pattern",
    "sys/kernel/modprobe",
    "sys/kernel/hostname",
    "sys/kernel/ns_last_pid",
    "sys/vm/drop_caches",
    "sys/vm/overcommit_memory",
    "sys/net/ipv4/ip_forward",
    "sys/fs/binfmt_misc/register",
    "sysrq-trigger",
    "irq/default_smp_affinity",
    "bus",
    "mtrr",
    "scsi/scsi",
):
    try:
        os.close(os.open(f"/proc/{name}", os.O_WRONLY))
        print("ESCAPED:", name)
    except OSError:
        pass
