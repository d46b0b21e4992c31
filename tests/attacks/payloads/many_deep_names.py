# aim: make the collection slower than its account may take
# expect: ok
# collect: **
# limits: inodes=65536
# meters: cgroup
# wall: collection: matching is linear and bounded in time
# control: none, there is only the collection

import os

for _ in range(1000):
    os.mkdir("a")
    os.chdir("a")
for number in range(64000):
    os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY))
