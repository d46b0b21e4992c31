# aim: find a proxy, and have it reach what this program may not
# wall: net: none is named, and none listens
# expect: ok
# control: without net

import os
import socket
import urllib.request

for name in os.environ:
    if "proxy" in name.lower():
        print("ESCAPED:", name)
port = os.environ["CANARY_PORT"]
for ask in (
    b"CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n",
    b"CONNECT host\0.evil:443 HTTP/1.1\r\n\r\n",
    b"GET http://127.0.0.1/ HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
):
    try:
        near = socket.create_connection(("127.0.0.1", int(port)), 0.5)
        near.send(ask)
        print("ESCAPED:", ask)
    except OSError:
        pass
for address in (
    f"http://127.0.0.1:{port}/",
    f"http://2130706433:{port}/",
    f"http://0x7f.1:{port}/",
    f"http://[::1]:{port}/",
):
    try:
        urllib.request.urlopen(address, timeout=0.3)
        print("ESCAPED:", address)
    except (OSError, ValueError):
        pass
