# aim: keep messages in POSIX queues, a quota of the uid
# wall: seccomp
# expect: ok
# control: without seccomp

from calls import *

call("mq_open", BAD, 0o102, 0o600, 0)
call("mq_unlink", BAD)
call("mq_timedsend", -1, BAD, 0, 0, 0)
call("mq_timedreceive", -1, BAD, 0, 0, 0)
call("mq_notify", -1, 0)
call("mq_getsetattr", -1, 0, 0)
