# aim: call what no snippet needs
# wall: seccomp
# expect: ok

import ctypes

libc = ctypes.CDLL(None)
here = ctypes.create_string_buffer(4096)
address = ctypes.addressof(here)
calls = {
    "mount": (165, address, address, address, 0, 0),
    "umount2": (166, address, 0),
    "pivot_root": (155, address, address),
    "chroot": (161, address),
    "fsopen": (430, address, 0),
    "open_tree": (428, -100, address, 1),
    "move_mount": (429, -1, address, -1, address, 0),
    "mount_setattr": (442, -100, address, 0, address, 32),
    "bpf": (321, 0, address, 64),
    "perf_event_open": (298, address, 0, -1, -1, 0),
    "io_uring_setup": (425, 8, address),
    "io_setup": (206, 8, address),
    "userfaultfd": (323, 1),
    "keyctl": (250, 0, -3, 1),
    "add_key": (248, address, address, address, 1, -3),
    "request_key": (249, address, address, address, 0),
    "name_to_handle_at": (303, -100, address, address, address, 0),
    "open_by_handle_at": (304, -100, address, 0),
    "kexec_load": (246, 0, 0, address, 0),
    "init_module": (175, address, 10, address),
    "finit_module": (313, 0, address, 0),
    "personality": (135, 0x40000),
    "seccomp": (317, 1, 0, address),
    "prctl seccomp": (157, 22, 2, address),
    "prctl mm": (157, 35, 1, 0, 0, 0),
    "prctl core scheduling": (157, 62, 1, 0, 0, 0),
    "prctl dispatch": (157, 59, 0, 0, 0, 0),
    "prctl high bits": (157, 1 << 32 | 35, 1, 0, 0, 0),
    "mq_open": (240, address, 0o102, 0o600, 0),
    "inotify_init1": (294, 0),
    "fanotify_init": (300, 0, 0),
    "memfd_secret": (447, 0),
    "vmsplice": (278, 1, address, 0, 0),
    "modify_ldt": (154, 0, address, 16),
    "set_mempolicy": (238, 0, 0, 0),
    "reboot": (169, 0xFEE1DEAD, 672274793, 0x1234567, 0),
    "swapon": (167, address, 0),
    "acct": (163, 0),
    "quotactl": (179, 0, address, 0, address),
    "syslog": (103, 10, 0, 0),
    "iopl": (172, 3),
    "ioperm": (173, 0, 1, 1),
    "sethostname": (170, address, 1),
    "settimeofday": (164, address, 0),
    "clock_adjtime": (305, 0, address),
    "sync": (162,),
    "syncfs": (306, 0),
    "landlock": (444, 0, 0, 1),
    "listmount": (458, address, address, 0, 0),
    "lookup_dcookie": (212, 0, address, 0),
    "number 1000": (1000,),
    "number -1": (-1,),
}
for name, (number, *arguments) in calls.items():
    if libc.syscall(*(ctypes.c_long(each) for each in (number, *arguments))) != -1:
        print("ESCAPED:", name)
