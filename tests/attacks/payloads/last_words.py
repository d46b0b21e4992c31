# aim: write just before being killed
# expect: signaled
# signal: SIGKILL
# says: LAST WORDS
# wall: output: the pipe is drained at the end
# control: none, there is only the output

import os

os.write(1, b"x" * 60000 + b"LAST WORDS")
os.kill(os.getpid(), 9)
