# aim: count by the network's own numbers how many runs there were
# wall: net: a namespace of its own for each run
# expect: ok
# times: 2
# control: twice

import socket

lines = [line.split() for line in open("/proc/net/dev").read().splitlines()[2:]]
if any(int(word) for line in lines for word in line[1:]):
    print("ESCAPED:", lines)
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagram.bind(("127.0.0.1", 0))
datagram.sendto(b"x", datagram.getsockname())
