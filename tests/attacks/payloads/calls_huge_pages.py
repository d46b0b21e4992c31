# aim: take huge pages, which are the whole machine's and no limit's
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("mmap", 0, 2 << 20, 3, 0x40022, -1, 0)
call("mmap", 0, 2 << 20, 3, 0x40022 | 21 << 26, -1, 0)
call("memfd_create", PAGE, 4)
call("memfd_create", PAGE, 4 | 21 << 26)
call("shmget", 0, 2 << 20, 0o5600)
call("shmget", 0, 2 << 20, HIGH | 0o5600)
