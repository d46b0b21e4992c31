# aim: make namespaces by every call, also with high bits
# wall: seccomp
# expect: ok

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
here = ctypes.create_string_buffer(128)
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
    for high in (0, 1 << 32, 1 << 63):
        if libc.syscall(ctypes.c_long(272), ctypes.c_ulong(flag | high)) == 0:
            print("ESCAPED: unshare", hex(flag | high))
        child = libc.syscall(ctypes.c_long(56), ctypes.c_ulong(flag | high | 17), None, None, None, None)
        if child == 0:
            libc._exit(0)
        if child > 0:
            print("ESCAPED: clone", hex(flag | high))
if libc.syscall(ctypes.c_long(435), here, ctypes.c_long(88)) != -1 or ctypes.get_errno() != 38:
    print("ESCAPED: clone3 is not ENOSYS")
for number in range(3, 8):
    if libc.setns(number, 0) == 0:
        print("ESCAPED: setns")
