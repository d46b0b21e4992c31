# aim: limit its init, which has its user
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("prlimit64", 1, 7, 0, PAGE)
call("prlimit64", 1 | HIGH, 7, 0, PAGE)
call("prlimit64", 0x7FFFFFFF, 7, 0, 0)
call("prlimit64", 0, 4, PAGE, 0)
call("prlimit64", 0, 4 | HIGH, PAGE, 0)
call("setrlimit", 4, PAGE)
call("setrlimit", 4 | HIGH, BAD)
