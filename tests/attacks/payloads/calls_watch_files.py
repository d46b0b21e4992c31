# aim: see which files neighbours read, and use up a quota of the uid
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

import os

call("inotify_init1", 0)
call("inotify_add_watch", -1, BAD, 0)
call("inotify_rm_watch", -1, 0)
call("fanotify_init", 0, 0)
call("fanotify_mark", -1, 0, 0, -1, 0)
call("fcntl", os.open("/dev/shm", os.O_RDONLY), 1026, 1)
call("fcntl", os.open("/dev/shm", os.O_RDONLY), HIGH | 1026, 1)
