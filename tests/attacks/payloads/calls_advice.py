# aim: throw shared files out of memory
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import os

file = os.open("/usr/bin/env", os.O_RDONLY)
call("fadvise64", file, 0, 0, 4)
call("fadvise64", file, 0, 0, HIGH | 4)
call("fadvise64", -1, 0, 0, 4)
