# aim: take huge pages, which are the whole machine's and no limit's
# wall: seccomp
# expect: ok

import ctypes
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
for make in (
    lambda: mmap.mmap(-1, 2 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000),
    lambda: os.memfd_create("x", os.MFD_HUGETLB),
    lambda: os.memfd_create("x", os.MFD_HUGETLB | os.MFD_HUGE_2MB),
):
    try:
        print("ESCAPED:", make())
    except PermissionError:
        pass
if libc.shmget(0, 2 << 20, 0o5600) != -1 or ctypes.get_errno() != 1:
    print("ESCAPED: shmget")
