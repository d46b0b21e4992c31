# aim: find files that an earlier run left in a shell's places
# wall: fresh: every run has namespaces and places of its own
# expect: ok
# times: 2
# control: twice

for place in /tmp /workspace /dev/shm "$HOME" "$TMPDIR"; do
  [[ -e $place/trace.sh ]] && echo "ESCAPED: $place"
done
touch /tmp/trace.sh /dev/shm/trace.sh "$HOME/trace.sh"
