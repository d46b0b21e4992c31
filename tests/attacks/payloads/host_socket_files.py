# aim: speak to a service of the host by the file of its socket
# wall: mount: the file is not there
# expect: ok
# control: without mount

import os
import socket

if socket.socket(socket.AF_UNIX).connect_ex(os.environ["CANARY_SOCKET"]) == 0:
    print("ESCAPED:", os.environ["CANARY_SOCKET"])
