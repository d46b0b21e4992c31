# aim: keep memory in the buffers of unix sockets
# wall: meter
# expect: memory_limit
# limits: memory_bytes=33554432 open_files=512
# open-watch: nothing tells a watch what unix sockets hold (docs/limits.md)
# control: limits memory_bytes=268435456 open_files=512

import socket

pairs = []
held = 0
while held < 60 << 20 and len(pairs) < 250:
    pairs.append(socket.socketpair())
    for each in pairs[-1]:
        try:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
        except OSError:
            pass
        each.setblocking(False)
        try:
            while True:
                held += each.send(bytes(65536))
        except BlockingIOError:
            pass
print("ESCAPED:", held)
