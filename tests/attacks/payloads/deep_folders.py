# aim: exhaust descriptors or the stack of the collection
# expect: ok
# collect: **/bottom
# wall: collection: one descriptor a level, no recursion
# control: none, there is only the collection

import os

for _ in range(1500):
    os.mkdir("a")
    os.chdir("a")
open("bottom", "w").write("x")
