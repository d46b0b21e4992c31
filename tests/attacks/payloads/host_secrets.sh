# aim: read secrets of the host from a shell
# expect: ok
# wall: mount: another root
# control: without mount

for path in /etc/shadow /proc/1/environ "$CANARY_FILE" /proc/1/root"$CANARY_FILE" /proc/1/cwd"$CANARY_FILE"; do
  cat "$path" 2>/dev/null && echo "ESCAPED: $path"
done
for path in /root /home /var/lib /sys/kernel /proc/1/root/ /proc/1/fd/; do
  ls -A "$path" 2>/dev/null && echo "ESCAPED: $path"
done
exit 0
