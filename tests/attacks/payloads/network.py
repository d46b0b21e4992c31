# aim: reach the host's loopback, by either family and by name
# wall: net: a namespace with a loopback of its own
# expect: ok
# control: without net

import os
import socket

for host in ("127.0.0.1", "localhost", "127.1.2.3", "0.0.0.0", "::1", "::ffff:127.0.0.1"):
    try:
        socket.create_connection((host, int(os.environ["CANARY_PORT"])), 1)
        print("ESCAPED:", host)
    except OSError:
        pass
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagram.connect(("127.0.0.1", int(os.environ["CANARY_UDP_PORT"])))
try:
    datagram.send(b"x")
    datagram.send(b"x")  # where nobody listens the second is told of it
    print("ESCAPED: a datagram")
except OSError:
    pass
