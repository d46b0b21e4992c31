# aim: put a program on a socket, enlarge its buffers, change its protocol
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import socket

inet = socket.socket().detach()
try:
    inet6 = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).detach()
except OSError:  # not every kernel has IPv6; the filter looks at the level, not at the socket
    inet6 = inet
for option in (8, 26, 50, 51, 52):
    call("setsockopt", inet, 1, option, BAD, 4)
    call("setsockopt", inet, HIGH | 1, option, BAD, 4)
call("setsockopt", inet, 6, 31, BAD, 4)
call("setsockopt", inet6, 41, 6, BAD, 64)
