# aim: find an abstract socket of an earlier run
# wall: net: abstract sockets belong to a namespace
# expect: ok
# times: 2
# control: twice

import socket

if socket.socket(socket.AF_UNIX).connect_ex("\0trace") == 0:
    print("ESCAPED: somebody listens")
if "trace" in open("/proc/net/unix").read():
    print("ESCAPED: it is listed")
globals().setdefault("kept", []).append(socket.socket(socket.AF_UNIX))
kept[-1].bind("\0trace") if len(kept) == 1 else None
kept[0].listen()
