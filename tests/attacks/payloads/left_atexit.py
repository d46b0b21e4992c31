# aim: run when a later program ends
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

import atexit

if atexit._ncallbacks() > 0:
    print("ESCAPED:", atexit._ncallbacks())
atexit.register(lambda: None)
