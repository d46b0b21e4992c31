# aim: speak to devices by port, and to the processor's own tables
# wall: seccomp
# expect: ok
# control: without seccomp
# machines: x86_64

from calls import *

call("iopl", 3)
call("iopl", 99)
call("ioperm", 0, 1, 1)
call("ioperm", 1 << 20, 1, 1)
call("modify_ldt", 0, BAD, 16)
call("modify_ldt", 0, PAGE, 16)
call("set_thread_area", BAD)
call("get_thread_area", BAD)
