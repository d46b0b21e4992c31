# aim: run a program that was never a file and ask for more rights
# wall: no_new_privs, seccomp
# expect: error

import os

memory = os.memfd_create("x")
os.sendfile(memory, os.open("/usr/bin/unshare", os.O_RDONLY), 0, 1 << 24)
os.execve(memory, ["unshare", "--user", "--map-root-user", "sh", "-c", "echo ESCAPED"], {})
