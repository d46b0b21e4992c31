# aim: find the ports that an earlier run has used, by what the kernel keeps of them
# wall: net: a namespace of its own for each run
# expect: ok
# times: 2
# control: twice

import socket

waiting = [line.split()[1:4] for line in open("/proc/net/tcp").read().splitlines()[1:]]
if waiting:
    print("ESCAPED:", waiting)
listener = socket.create_server(("127.0.0.1", 47110), reuse_port=True)
near = socket.create_connection(("127.0.0.1", 47110))
far = listener.accept()[0]
near.close()
far.close()
listener.close()
