# aim: ask for a petabyte in one call
# expect: error
# wall: meter: no machine has so much, so the kernel refuses at once
# control: none, no limit could let it through

bytearray(1 << 50)
