# aim: change what every program has at hand
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

import builtins

if hasattr(builtins, "trace") or len.__name__ != "len":
    builtins.print("ESCAPED")
builtins.trace = True
builtins.len = lambda _: 7
