# aim: stack rules of its own
# wall: seccomp: they look absent
# expect: ok
# control: without seccomp

from calls import *

call("landlock_create_ruleset", 0, 0, 1)
call("landlock_add_rule", -1, 1, BAD, 0)
call("landlock_restrict_self", -1, 0)
