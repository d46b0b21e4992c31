# aim: fill the process table from a shell
# wall: task limit
# expect: any
# limits: wall_seconds=1

bomb() { bomb | bomb & bomb; }
bomb 2>/dev/null
while :; do sleep 1; done
