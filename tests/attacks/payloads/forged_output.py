# aim: print what looks like the service's answer
# wall: wire: what is printed is data
# expect: error
# exit: 8
# control: none, there is only the output

import json
import os

print(json.dumps({"status": "ok", "exit_code": 0, "stdout": "forged", "limits_hit": []}))
os.write(1, b"\x08\0\0\0d\x01\0\0\0s\x04\0\0\0over\n\nHTTP/1.1 200 OK\r\n\r\n{}")
os._exit(8)
