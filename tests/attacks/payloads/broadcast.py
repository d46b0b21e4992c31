# aim: call to everybody in reach
# wall: net: nobody is
# expect: ok
# control: none, tests speak to nobody but this machine

import socket

for family, address in (
    (socket.AF_INET, ("255.255.255.255", 9)),
    (socket.AF_INET, ("224.0.0.251", 5353)),
    (socket.AF_INET6, ("ff02::1%1", 9)),
    (socket.AF_INET, ("10.255.255.255", 9)),
):
    try:
        caller = socket.socket(family, socket.SOCK_DGRAM)  # not every kernel has IPv6
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        caller.sendto(b"x", address)
        if address[0] != "ff02::1%1":  # its own loopback hears this one
            print("ESCAPED:", address)
    except OSError:
        pass
