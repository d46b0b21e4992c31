# aim: use a descriptor that was left open to a shell
# wall: descriptors 0, 1, 2 alone
# expect: ok

for number in {3..254} {256..300}; do
  if { true >&"$number"; } 2>/dev/null || { true <&"$number"; } 2>/dev/null; then echo "ESCAPED: $number"; fi
done
exit 0
