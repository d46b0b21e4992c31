# aim: have another root
# wall: seccomp
# expect: ok
# control: without seccomp, capabilities

from calls import *

call("chroot", BAD)
call("chroot", PAGE)
call("pivot_root", BAD, BAD)
