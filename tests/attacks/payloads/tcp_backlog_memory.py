# aim: keep memory in connections that nobody has accepted and whose other ends are closed
# wall: the length of a backlog
# expect: any
# limits: memory_bytes=33554432 wall_seconds=15

import socket
import time

listeners = []
for _ in range(8):
    listeners.append(socket.socket())
    try:
        listeners[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
    except OSError:
        pass
    listeners[-1].bind(("127.0.0.1", 0))
    listeners[-1].listen(4096)
for number in range(4000):
    near = socket.socket()
    near.settimeout(0.05)
    try:
        near.connect(listeners[number % 8].getsockname())
        near.send(bytes(1 << 18))
    except OSError:
        pass
    near.close()
time.sleep(0.2)
held = sum(int(line.split()[4].split(":")[1], 16) for line in open("/proc/net/tcp").read().splitlines()[1:])
if held > 64 << 20:
    print("ESCAPED:", held)
