# aim: read in the memory of its init what that was told
# wall: init: not dumpable
# expect: error
# exit: 3
# control: without not-dumpable, seccomp

import os

try:
    spans = [line.split() for line in open("/proc/1/maps")]
    memory = os.open("/proc/1/mem", os.O_RDONLY)
    for span, modes, *_ in spans:
        if modes.startswith("rw"):
            low, high = (int(each, 16) for each in span.split("-"))
            held = os.pread(memory, min(high - low, 1 << 20), low)
            if held:
                print("ESCAPED:", len(held))
                break
except OSError:
    pass
os._exit(3)
