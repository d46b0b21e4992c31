# aim: break or delay supervision by a descendant that holds, writes and reads the streams
# wall: events are asked for anew after the end
# expect: ok
# stdin: 3000000
# times: 80
# at-once: 8

import os
import select

main = os.getpid()
if os.fork() == 0:
    select.select([os.pidfd_open(main)], [], [])
    while True:
        os.write(1, b"x" * 10)
        os.read(0, 65536)
os._exit(0)
