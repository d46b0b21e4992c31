# aim: flood every descriptor and every socket that it can find, so that nobody hears init
# wall: wire: no guest holds an end of ours
# expect: error
# exit: 4
# control: without descriptors
# freed: failure

import os

for number in (*range(3, 64), 0):
    try:
        os.set_blocking(number, False)
        while True:
            os.write(number, b"\xff" * 65536)
    except OSError:
        pass
os._exit(4)
