# aim: watch the machine by its counters
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("perf_event_open", BAD, 0, -1, -1, 0)
call("perf_event_open", PAGE, 1, -1, -1, 0)
