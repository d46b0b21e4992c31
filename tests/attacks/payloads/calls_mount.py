# aim: mount, unmount and remount, by the old calls
# wall: seccomp
# expect: ok
# control: without seccomp, capabilities

from calls import *

call("mount", BAD, BAD, BAD, 0, 0)
call("mount", 0, PAGE, 0, 0x1000 | 0x20, 0)
call("umount2", BAD, 0)
call("umount2", PAGE, 0xFFFF)
