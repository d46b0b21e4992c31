# aim: keep kernel memory in semaphores and messages of System V
# expect: memory_limit
# expect-watch: error
# limits: memory_bytes=67108864
# wall: meter: under a watch seccomp
# control: limits memory_bytes=536870912
# control-watch: without seccomp

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
message = ctypes.create_string_buffer(b"\1" * 8, 8192)
for _ in range(80):
    if libc.semget(0, 32000, 0o600) < 0:
        raise SystemExit(ctypes.get_errno())
    queue = libc.msgget(0, 0o600)
    for _ in range(2):
        libc.msgsnd(queue, message, ctypes.c_size_t(8000), 0o4000)
print("ESCAPED: 160 MiB")
