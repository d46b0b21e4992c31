# aim: fill the process table from a shell, and outlast the deadline
# wall: clock: and the task limit
# expect: timeout
# limits: wall_seconds=0.6 processes=32
# control: limits wall_seconds=60.0 processes=32

bomb() { bomb | bomb & bomb; }
until=$((${EPOCHREALTIME/./} + 1000000))
(bomb) >/dev/null 2>&1 &
while ((${EPOCHREALTIME/./} < until)); do :; done
echo ESCAPED
kill -KILL -1
