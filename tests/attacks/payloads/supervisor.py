# aim: find the service, read what it has, and end it
# wall: pid: only the run's own processes are in sight
# expect: ok
# control: without pid

import os

for name in os.listdir("/proc"):
    if name.isdigit() and int(name) not in (1, os.getpid()):
        print("ESCAPED: in sight", name)
        break
if os.getppid() != 1:
    print("ESCAPED: a parent", os.getppid())
for number in (2, 3, 100, 1000, 4194304):
    if number != os.getpid():
        try:
            os.kill(number, 0)
            print("ESCAPED: can signal", number)
        except OSError:
            pass
