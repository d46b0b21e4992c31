# aim: open sockets of seldom-used families
# wall: seccomp
# expect: ok

import ctypes

libc = ctypes.CDLL(None)
for family in range(64):
    for kind in (1, 2, 3, 4, 5, 6, 10):
        for protocol in (0, 1, 6, 17, 58, 132, 136, 255, 262):
            plain = family == 1 and kind in (1, 2, 5)
            inet = family in (2, 10) and (kind, protocol) in {(1, 0), (1, 6), (2, 0), (2, 17)}
            if not plain and not inet and libc.socket(family, kind, protocol) >= 0:
                print("ESCAPED:", family, kind, protocol)
if libc.syscall(ctypes.c_long(41), ctypes.c_long(1 << 32 | 16), ctypes.c_long(3), ctypes.c_long(0)) >= 0:
    print("ESCAPED: netlink with a high bit")
