# aim: write just before being killed
# wall: the pipe is drained at the end
# expect: signaled
# signal: SIGKILL
# says: LAST WORDS

import os

os.write(1, b"x" * 60000 + b"LAST WORDS")
os.kill(os.getpid(), 9)
