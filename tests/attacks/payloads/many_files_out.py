# aim: have more collected than the service may hold
# wall: collection: a hundred files and sixteen mebibytes
# expect: ok
# collect: **
# skipped: too_many too_large
# control: without file-limits
# freed: says 'f129'

for number in range(130):
    open(f"f{number:03}", "wb").write(bytes(4096))
open("a", "wb").write(bytes(17 << 20))
