# aim: keep memory in TCP buffers on our own loopback
# wall: memory meter (v1: memory.kmem.tcp)
# expect: ok
# limits: memory_bytes=33554432 wall_seconds=10
# open-watch: cgroup v1 charges no TCP memory unless memory.kmem.tcp.limit_in_bytes is set; the watch sees none

import socket

listener = socket.create_server(("127.0.0.1", 0))
pairs = []
held = 0
try:
    while held < 150 << 20 and len(pairs) < 100:
        near = socket.create_connection(listener.getsockname())
        pairs.append((near, listener.accept()[0]))
        for each in pairs[-1]:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 23)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
            each.setblocking(False)
            try:
                while True:
                    held += each.send(bytes(65536))
            except BlockingIOError:
                pass
except OSError:
    pass
if held > 64 << 20:
    print("ESCAPED:", held)
