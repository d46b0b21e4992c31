# aim: use a descriptor that was left open to a shell
# wall: descriptors 0, 1, 2 alone
# expect: ok

# From 10 on bash keeps what it redirects.
for number in {3..9}; do
  if { true >&"$number"; } 2>/dev/null || { true <&"$number"; } 2>/dev/null; then echo "ESCAPED: $number"; fi
done
exit 0
