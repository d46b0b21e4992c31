# aim: outlive the deadline from a shell that traps every signal
# wall: clock: SIGKILL
# expect: timeout
# limits: wall_seconds=0.4
# hits: wall
# control: limits wall_seconds=30.0

for number in {1..64}; do trap '' "$number" 2>/dev/null; done
sleep 0.9
echo ESCAPED
