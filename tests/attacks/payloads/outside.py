# aim: reach the metadata service, the neighbourhood and the world
# wall: net: no interface but its own loopback, no route
# expect: ok
# control: none, tests speak to nobody but this machine

import errno
import socket

for target in (
    ("169.254.169.254", 80),
    ("169.254.170.2", 80),
    ("10.0.0.1", 53),
    ("172.17.0.1", 80),
    ("192.168.1.1", 80),
    ("8.8.8.8", 53),
    ("fd00:ec2::254", 80),
    ("2001:db8::1", 80),
):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            probe = socket.socket(socket.AF_INET6 if ":" in target[0] else socket.AF_INET, kind)
        except OSError:  # not every kernel has IPv6
            continue
        probe.settimeout(0.2)
        answer = probe.connect_ex(target)
        if answer not in (errno.ENETUNREACH, errno.EADDRNOTAVAIL):
            print("ESCAPED:", target, errno.errorcode.get(answer, answer))
interfaces = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
if interfaces != ["lo"] or len(open("/proc/net/route").read().splitlines()) > 1:
    print("ESCAPED:", interfaces)
