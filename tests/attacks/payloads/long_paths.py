# aim: have a path cut to another file's name
# expect: ok
# collect: **
# files:
# skipped: unreadable
# wall: collection: what cannot be named is not returned
# control: none, there is only the collection

import os

for _ in range(16):
    os.mkdir("d" * 254)
    os.chdir("d" * 254)
os.mkdir("e" * 14)
os.chdir("e" * 14)
for number in range(3):
    open("f" * 100 + str(number), "w").write(str(number))
