# aim: wait where a signal does not reach: for a child that shares our memory and has not become a program yet
# wall: clock: who waits for vfork can be killed
# expect: timeout
# limits: wall_seconds=0.4
# hits: wall
# control: limits wall_seconds=30.0

import os
import time

os.mkfifo("/tmp/fifo")
if os.fork() == 0:
    time.sleep(0.8)
    os.open("/tmp/fifo", os.O_WRONLY)
    os._exit(0)
# The child opens the FIFO before it becomes a program, and we stand until it has.
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 9, "/tmp/fifo", os.O_RDONLY, 0)])
print("ESCAPED")
