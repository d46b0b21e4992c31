# aim: send words out in the names it asks for
# wall: net: there is no name server, and no way to one
# expect: ok
# control: without net

import os
import socket

for name in ("data.invalid", "x" * 60 + ".invalid", "metadata.invalid"):
    try:
        print("ESCAPED:", socket.getaddrinfo(name, 80))
    except (OSError, UnicodeError):
        pass
query = b"\x12\x34\x01\x00\x00\x01" + bytes(6) + b"\x04data\x07example\x03com\x00\x00\x01\x00\x01"
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.connect(("127.0.0.1", int(os.environ["CANARY_UDP_PORT"])))
try:
    server.send(query)
    server.send(query)
    print("ESCAPED: a query")
except OSError:
    pass
