# aim: change what a process may have changed of it
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

for option in (22, 35, 62, 59, 45, 67, 78, 9999):
    call("prctl", option, 99, 0, 0, 0)
    call("prctl", HIGH | option, 99, 0, 0, 0)
