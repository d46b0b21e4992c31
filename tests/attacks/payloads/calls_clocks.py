# aim: set the clocks of the machine
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("settimeofday", BAD, 0)
call("clock_settime", 99, BAD)
call("clock_settime", 0, BAD)
call("clock_adjtime", 99, BAD)
call("adjtimex", BAD)
