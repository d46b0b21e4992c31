# aim: say where memory lies
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("mbind", BAD, 0, 99, BAD, 0, 0)
call("set_mempolicy", 99, BAD, 0)
call("set_mempolicy", 0, 0, 0)
call("get_mempolicy", BAD, BAD, 0, 0, 0)
call("set_mempolicy_home_node", BAD, 0, 0, 1)
