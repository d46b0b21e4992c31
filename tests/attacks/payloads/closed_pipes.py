# aim: write to pipes that it has closed, or whose reader it took away
# wall: output: an error in the guest, and nothing else
# expect: error
# exit: 5
# control: none, there is only the output

import os

reader, writer = os.pipe()
os.close(reader)
try:
    os.write(writer, b"x")
except BrokenPipeError:
    pass
os.close(1)
os.close(2)
for number in (1, 2):
    try:
        os.write(number, b"x")
    except OSError:
        pass
os._exit(5)
