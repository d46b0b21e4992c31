# aim: speak as init would, on every descriptor
# expect: error
# exit: 9
# wall: wire: no guest holds an end of ours
# control: without descriptors
# freed: failure

import os

over = b"d\x01\0\0\0s\x04\0\0\0overd\x01\0\0\0s\x06\0\0\0statusi\x01\0\0\x000"
frame = len(over).to_bytes(4, "little") + over
for number in range(256):
    try:
        os.write(number, frame)
    except OSError:
        pass
os._exit(9)
