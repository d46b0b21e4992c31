# aim: run a program that was never a file and ask for more rights
# expect: error
# wall: seccomp: what a program may not do it may not do from memory either
# control: without seccomp

import os

memory = os.memfd_create("x")
os.sendfile(memory, os.open("/usr/bin/unshare", os.O_RDONLY), 0, 1 << 24)
os.execve(memory, ["unshare", "--user", "sh", "-c", "echo ESCAPED"], {})
