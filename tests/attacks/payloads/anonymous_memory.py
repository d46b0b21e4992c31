# aim: use more memory than allowed
# wall: meter
# expect: memory_limit
# expect-watch: error
# limits: memory_bytes=67108864
# control: limits memory_bytes=268435456

held = bytearray(80 << 20)
print("ESCAPED:", len(held))
