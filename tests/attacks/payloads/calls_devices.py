# aim: make devices
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import stat

MEMORY[:8] = b"/tmp/d\0\0"
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    for device in (0x101, 0x800, 0xFE00, 0xAC8):
        call("mknodat", -100, PAGE, kind | 0o666, device)
        call("mknod", PAGE, kind | 0o666, device)
