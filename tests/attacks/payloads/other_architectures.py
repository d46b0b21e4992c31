# aim: make calls by the x32 numbers and by int 0x80
# expect: ok
# wall: seccomp: it looks at the architecture
# control: without seccomp
# machines: x86_64
# absent: uml

import ctypes
import mmap
import os

libc = ctypes.CDLL(None)
for number in (39, 272, 165, 101, 321):
    if libc.syscall(ctypes.c_long(0x40000000 | number), ctypes.c_long(0x10000000)) != -1:
        print("ESCAPED: x32", number)
if os.uname().machine == "x86_64":
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(bytes.fromhex("5389f889f3cd805bc3"))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    for number, argument in ((20, 0), (310, 0x10000000), (288, 0)):
        child = os.fork()
        if child == 0:
            os._exit(77 if call(number, argument) >= 0 else 0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 77:
            print("ESCAPED: int 0x80", number)
