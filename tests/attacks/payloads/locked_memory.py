# aim: lock memory, so that the machine cannot take it back
# wall: rlimit: RLIMIT_MEMLOCK is 64 KiB
# expect: ok
# control: without rlimits

import ctypes
import mmap

held = mmap.mmap(-1, 1 << 20)
address = ctypes.addressof(ctypes.c_char.from_buffer(held))
if ctypes.CDLL(None).mlock(ctypes.c_void_p(address), ctypes.c_size_t(1 << 20)) == 0:
    print("ESCAPED: a mebibyte")
if ctypes.CDLL(None).mlockall(3) == 0:
    print("ESCAPED: everything")
