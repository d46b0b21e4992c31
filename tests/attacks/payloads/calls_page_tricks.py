# aim: use the seldom-used ways to map, move and watch pages
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("remap_file_pages", BAD, 0, 0, 0, 0)
call("vmsplice", -1, PAGE, 1, 0)
call("vmsplice", 1, BAD, 1, 0)
call("cachestat", -1, PAGE, PAGE, 0)
call("madvise", PAGE, 4096, 12)
call("madvise", BAD, 4096, 12 | HIGH)
