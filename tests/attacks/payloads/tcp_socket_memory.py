# aim: keep memory in TCP buffers on our own loopback
# expect: ok
# expect-watch: memory_limit
# expect-v2: memory_limit
# paced: how fast sockets are filled is the kernel's affair
# limits: memory_bytes=33554432 wall_seconds=10
# wall: meter: of version 1 memory.kmem.tcp
# control: without meter
# control-watch: without meter

import socket
import time

listener = socket.create_server(("127.0.0.1", 0))
pairs = []
held = 0
try:
    while held < 150 << 20 and len(pairs) < 120:
        near = socket.create_connection(listener.getsockname())
        pairs.append((near, listener.accept()[0]))
        for each in pairs[-1]:
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                try:
                    each.setsockopt(socket.SOL_SOCKET, option, 1 << 23)
                except OSError:
                    pass
            each.setblocking(False)
            try:
                while True:
                    held += each.send(bytes(65536))
            except BlockingIOError:
                pass
except OSError:
    pass
time.sleep(1)  # a watch looks now and then: what counts is what is held for long
if held > 64 << 20:
    print("ESCAPED:", held)
