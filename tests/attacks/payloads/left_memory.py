# aim: find in memory what an earlier run has had there
# wall: fresh: every run has a process of its own
# expect: ok
# times: 2
# control: twice

word = b"-".join((b"TRACE", b"OF", b"A", b"RUN"))
found = 0
for line in open("/proc/self/maps"):
    span, modes, *_, last = line.split()
    if modes[:2] == "rw" and not last.startswith("[v"):
        low, high = (int(each, 16) for each in span.split("-"))
        with open("/proc/self/mem", "rb", 0) as memory:
            memory.seek(low)
            found += memory.read(high - low).count(word + b"-LEFT")
if found > 3:
    print("ESCAPED:", found)
kept = globals().setdefault("kept", [])
kept.append([word + b"-LEFT" + bytes([number]) for number in range(50)])
