# aim: boot another kernel, or have its own modules in this one
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("kexec_load", 0, 0, BAD, 0)
call("kexec_file_load", -1, -1, 0, BAD, 0)
call("init_module", BAD, 10, BAD)
call("finit_module", -1, BAD, 0)
call("delete_module", BAD, 0)
