# aim: keep kernel memory that nobody is charged for, in the options of sockets
# expect: ok
# limits: memory_bytes=33554432
# wall: seccomp: and the option quota of the run's own network
# control: without seccomp, socket-quota
# absent: uml

import socket
import struct

ancillary = struct.pack("@Qiii4x", 20, socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 0) * 2700
held = 0
kept = []
for option in (6, socket.IPV6_RTHDR, socket.IPV6_HOPOPTS, socket.IPV6_DSTOPTS, 48):
    try:
        for _ in range(20):
            kept.append(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
            kept[-1].setsockopt(socket.IPPROTO_IPV6, option, ancillary)
            held += len(ancillary)
    except OSError:
        pass
if held:
    print("ESCAPED:", held)
