# aim: find words of the service in the interpreter that was forked for us
# expect: ok
# wall: fresh: the fork server holds no secret
# control: given

import re

words = [word[::-1] for word in (b"YRANAC-HF", b"/xobdnas/", b"nwaps.xobdnas", b"EMANTSOH")]
for line in open("/proc/self/maps"):
    span, modes, *_, last = line.split()
    if modes[0] != "r" or last.startswith("[v"):
        continue
    low, high = (int(each, 16) for each in span.split("-"))
    with open("/proc/self/mem", "rb", 0) as memory:
        memory.seek(low)
        try:
            held = memory.read(high - low)
        except OSError:
            continue
    for word in words:
        for found in re.finditer(re.escape(word), held):
            around = held[found.start() : found.start() + 48]
            if around[len(word) : len(word) + 1].isalnum() or around[len(word) : len(word) + 1] in (b"-", b"="):
                print("ESCAPED:", around)
