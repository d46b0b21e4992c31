# aim: be imported by a later program in place of a module
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

import os
import sys

if any("trace" in path for path in sys.path) or any(hasattr(each, "trace") for each in sys.meta_path):
    print("ESCAPED:", sys.path)


class Finder:
    trace = True

    def find_spec(self, *_):
        return None


sys.meta_path.insert(0, Finder())
sys.path.insert(0, "/tmp/trace")
os.makedirs("/tmp/trace", exist_ok=True)
open("/tmp/trace/decimal.py", "w").write("print('ESCAPED: imported')")
