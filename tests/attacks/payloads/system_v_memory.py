# aim: keep memory in System V segments that nobody has attached
# expect: memory_limit
# expect-watch: signaled
# limits: memory_bytes=134217728
# wall: meter: under a watch seccomp
# control: limits memory_bytes=1073741824
# control-watch: without seccomp

import ctypes

libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
for _ in range(20):
    address = libc.shmat(libc.shmget(0, 16 << 20, 0o1600), None, 0)
    ctypes.memset(address, 1, 16 << 20)
    libc.shmdt(address)
print("ESCAPED: 320 MiB")
