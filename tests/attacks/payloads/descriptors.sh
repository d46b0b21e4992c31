# aim: use a descriptor that was left open to a shell
# expect: ok
# wall: init: descriptors 0, 1, 2 alone
# control: without descriptors

# From 10 on bash keeps what it redirects.
for number in {3..9}; do
  if { true >&"$number"; } 2>/dev/null || { true <&"$number"; } 2>/dev/null; then echo "ESCAPED: $number"; fi
done
exit 0
