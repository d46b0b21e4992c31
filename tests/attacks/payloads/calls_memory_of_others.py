# aim: read and write the memory of its init
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import os

for number in (1, 0x7FFFFFFF):
    call("process_vm_readv", number, PAGE, 1, PAGE, 1, 0)
    call("process_vm_writev", number, PAGE, 1, PAGE, 1, 0)
call("process_madvise", os.pidfd_open(1), PAGE, 1, 4, 0)
call("process_mrelease", os.pidfd_open(1), 0)
call("move_pages", 1, 0, 0, 0, 0, 0)
call("migrate_pages", 1, 8, BAD, BAD)
