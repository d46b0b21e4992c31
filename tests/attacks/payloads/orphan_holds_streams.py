# aim: break or delay supervision by a descendant that holds, writes and reads the streams
# expect: ok
# stdin: 3000000
# at-once: 8
# wall: verdict: the run ends with its main process
# control: none, it is our supervision that is tried
# times: 32

import os
import select

main = os.getpid()
if os.fork() == 0:
    select.select([os.pidfd_open(main)], [], [])
    while True:
        os.write(1, b"x" * 10)
        os.read(0, 65536)
os._exit(0)
