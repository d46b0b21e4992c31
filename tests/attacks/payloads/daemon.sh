# aim: survive the run from a shell
# expect: ok
# wall: pid: the namespace ends with init, and takes everyone along
# control: without pid, meter
# freed: left

trap '' TERM HUP INT
(setsid nohup sleep 1000 </dev/null >/dev/null 2>&1 &)
exec 0<&- 1>&- 2>&-
exit 0
