# aim: run after the verdict by hooks of the interpreter
# expect: error
# exit: 6
# wall: verdict: the process ends for good
# control: none, there is only the verdict

import atexit
import os
import sys
import threading
import weakref


class Clinging:
    def __del__(self):
        os.write(1, b"del ")


keep = Clinging()
weakref.finalize(keep, os.write, 1, b"finalize ")
sys.excepthook = lambda *_: os.write(1, b"hook ")
atexit.register(os.write, 1, b"atexit ")
threading.excepthook = sys.excepthook
sys.stdout = sys.stderr = None
raise SystemExit(6)
