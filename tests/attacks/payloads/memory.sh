# aim: use more memory than allowed, from a shell
# wall: meter
# expect: memory_limit
# limits: memory_bytes=67108864
# control: limits memory_bytes=536870912
# expect-watch: error

held=$(head -c 30000000 /dev/zero | tr '\0' x)
held=$held$held$held
echo "ESCAPED: ${#held}"
