# aim: ask for a petabyte in one call
# wall: the kernel refuses; nothing of ours sees it
# expect: error

bytearray(1 << 50)
