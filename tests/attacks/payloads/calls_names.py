# aim: rename the machine
# wall: seccomp
# expect: ok
# control: without seccomp, capabilities

from calls import *

call("sethostname", BAD, 1)
call("sethostname", PAGE, -1)
call("setdomainname", BAD, 1)
