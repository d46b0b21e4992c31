# aim: exhaust descriptors or the stack of the collection
# wall: one descriptor a level, no recursion
# expect: ok
# collect: **/bottom

import os

for _ in range(1500):
    os.mkdir("a")
    os.chdir("a")
open("bottom", "w").write("x")
