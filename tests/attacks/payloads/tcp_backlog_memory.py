# aim: keep memory in connections that nobody has accepted and whose other ends are closed
# expect: memory_limit
# paced: how fast sockets are filled is the kernel's affair
# limits: memory_bytes=33554432 wall_seconds=15 open_files=512
# hits: memory
# wall: meter: the service looks at what waits unaccepted
# control: limits memory_bytes=1073741824

import socket
import time

data = bytes(1 << 17)
listeners = []
for _ in range(30):
    listeners.append(socket.socket())
    listeners[-1].bind(("127.0.0.1", 0))
    listeners[-1].listen(4096)
    for _ in range(64):
        near = socket.socket()
        near.setblocking(False)
        near.connect_ex(listeners[-1].getsockname())
        try:
            while near.send(data):
                pass
        except OSError:
            pass
        near.close()
time.sleep(2)  # the service looks now and then: what counts is what is held for long
print("ESCAPED: 1920 connections")
