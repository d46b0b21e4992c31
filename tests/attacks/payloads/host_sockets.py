# aim: speak to services of the host by their unix sockets, abstract or named
# wall: net: abstract names are a network's own
# expect: ok
# control: without net

import os
import socket

for address in (
    "\0" + os.environ["CANARY_ABSTRACT"],
    os.environ["CANARY_SOCKET"],
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/tmp/.X11-unix/X0",
):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        if socket.socket(socket.AF_UNIX, kind).connect_ex(address) == 0:
            print("ESCAPED:", address)
if os.environ["CANARY_ABSTRACT"] in open("/proc/net/unix").read():
    print("ESCAPED: it is listed")
