# aim: reach the host's loopback from a shell
# wall: net namespace
# expect: ok

for target in "127.0.0.1/$CANARY_PORT" 169.254.169.254/80; do
  (exec 3<>"/dev/tcp/$target") 2>/dev/null && echo "ESCAPED: $target"
done
exit 0
