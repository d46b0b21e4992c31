# aim: survive the run from a shell
# wall: the pid namespace ends with init
# expect: ok

trap '' TERM HUP INT
(setsid nohup sleep 1000 </dev/null >/dev/null 2>&1 &)
exec 0<&- 1>&- 2>&-
exit 0
