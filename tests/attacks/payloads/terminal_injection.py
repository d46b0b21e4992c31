# aim: type into a terminal, also with high bits in the request
# wall: deny filter compares 32 bits
# expect: ok

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
text = ctypes.create_string_buffer(b"x")
for request in (0x5412, 0x541C, 0x541D, 0x5423):
    for high in (0, 1 << 32, 1 << 63):
        libc.syscall(ctypes.c_long(16), ctypes.c_long(0), ctypes.c_ulong(request | high), text)
        if ctypes.get_errno() != 1:
            print("ESCAPED:", hex(request | high), ctypes.get_errno())
try:
    os.open("/dev/tty", os.O_RDWR)
    print("ESCAPED: a terminal")
except OSError:
    pass
