# aim: find the service from a shell
# wall: pid: only the run's own processes are in sight
# expect: ok
# control: without pid

shopt -s nullglob
for status in /proc/[0-9]*/status; do
  pid=${status//[!0-9]/}
  [[ $pid == 1 || $pid == "$$" ]] || { echo "ESCAPED: $pid"; break; }
done
exit 0
