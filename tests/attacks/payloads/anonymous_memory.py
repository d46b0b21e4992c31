# aim: use more memory than allowed
# wall: memory meter
# expect: memory_limit
# expect-watch: error

held = bytearray(1 << 30)
