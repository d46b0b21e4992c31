# aim: leave traces in the interpreter itself: limits, hooks, collector, warnings, names
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

import gc
import sys
import threading
import warnings

found = {
    "recursion limit": sys.getrecursionlimit() != 1000,
    "trace": sys.gettrace() is not None or sys.getprofile() is not None,
    "hooks": sys.excepthook is not sys.__excepthook__ or sys.displayhook is not sys.__displayhook__,
    "collector": not gc.isenabled() or gc.get_threshold()[0] != 700 or bool(gc.callbacks),
    "warnings": any(action == "trace" for action, *_ in warnings.filters),
    "threads": threading.active_count() != 1,
    "switch interval": sys.getswitchinterval() > 1,
}
for name in [name for name, there in found.items() if there]:
    print("ESCAPED:", name)
sys.setrecursionlimit(2000)
sys.excepthook = lambda *_: None
gc.callbacks.append(lambda *_: None)
gc.set_threshold(9)
sys.setswitchinterval(2)
warnings.filters.insert(0, ("trace", None, Warning, None, 0))
