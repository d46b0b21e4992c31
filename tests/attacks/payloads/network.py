# aim: reach the host's loopback, the metadata service and the neighbourhood
# wall: net namespace
# expect: ok

import os
import socket

targets = [
    ("127.0.0.1", int(os.environ["CANARY_PORT"])),
    ("169.254.169.254", 80),
    ("10.0.0.1", 53),
    ("::1", int(os.environ["CANARY_PORT"])),
]
for target in targets:
    try:
        socket.create_connection(target, 0.5)
        print("ESCAPED:", target)
    except OSError:
        pass
for _, name in socket.if_nameindex() if hasattr(socket, "no") else []:
    print(name)
interfaces = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
if interfaces != ["lo"]:
    print("ESCAPED:", interfaces)
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53))
    print("ESCAPED: a datagram left")
except OSError:
    pass
