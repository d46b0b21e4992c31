# aim: keep memory in UDP buffers on our own loopback
# expect: any
# expect-watch: memory_limit
# paced: how fast sockets are filled is the kernel's affair
# limits: memory_bytes=33554432 wall_seconds=10 open_files=512
# wall: meter: of version 1 memory.kmem.tcp, which then counts all inet sockets
# control: without meter

import socket
import time

kept = []
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(400):
    kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    try:
        kept[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
    except OSError:
        pass
    kept[-1].bind(("127.0.0.1", 0))
    for _ in range(256):
        try:
            sender.sendto(bytes(32768), kept[-1].getsockname())
        except OSError:
            pass
held = sum(int(line.split()[4].split(":")[1], 16) for line in open("/proc/net/udp").read().splitlines()[1:])
time.sleep(1)  # a watch looks now and then: what counts is what is held for long
if held > 64 << 20:
    print("ESCAPED:", held)
