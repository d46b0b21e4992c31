# aim: switch the machine off, or its swap, quotas and accounts
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("reboot", 1, 2, 3, BAD)
call("swapon", BAD, 0)
call("swapoff", BAD)
call("acct", BAD)
call("quotactl", -1, BAD, 0, BAD)
call("quotactl_fd", -1, 0, 0, 0)
call("syslog", 10, 0, 0)
call("syslog", 99, 0, 0)
call("vhangup")
call("lookup_dcookie", 0, BAD, 0)
call("lsm_get_self_attr", 100, BAD, BAD, 0)
call("lsm_set_self_attr", 100, BAD, 8, 0)
call("lsm_list_modules", BAD, BAD, 0)
