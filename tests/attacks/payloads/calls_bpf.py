# aim: have a program of its own in the kernel
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("bpf", 0, BAD, 64)
call("bpf", 5, PAGE, 64)
call("seccomp", 1, 0, BAD)
call("seccomp", 99, 0, 0)
