# aim: wait longer than its time
# wall: clock
# expect: timeout
# limits: wall_seconds=0.4
# hits: wall
# control: limits wall_seconds=30.0

sleep 0.9
echo ESCAPED
