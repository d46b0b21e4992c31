# aim: mount by descriptors, piece by piece
# wall: seccomp
# expect: ok
# control: without seccomp, capabilities

from calls import *

call("fsopen", BAD, 0)
call("fsconfig", -1, 99, 0, 0, 0)
call("fsmount", -1, 0, 0)
call("fspick", -1, BAD, 0)
call("open_tree", -1, BAD, 0)
call("open_tree_attr", -1, BAD, 0, 0, 0)
call("move_mount", -1, BAD, -1, BAD, 0)
call("mount_setattr", -1, BAD, 0, BAD, 32)
call("statmount", BAD, PAGE, 512, 0)
call("listmount", BAD, PAGE, 8, 0)
