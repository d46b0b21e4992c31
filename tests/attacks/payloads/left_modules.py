# aim: change a module for whoever comes next in this interpreter
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

import json
import os
import sys

if hasattr(json, "trace") or json.dumps(1) != "1" or "traced" in sys.modules or hasattr(os, "trace"):
    print("ESCAPED")
json.trace = os.trace = True
json.dumps = lambda _: "changed"
sys.modules["traced"] = json
