# aim: burn CPU in a shell
# wall: meter: CPU
# expect: cpu_limit
# limits: cpu_seconds=0.3
# hits: cpu
# control: limits cpu_seconds=30.0

for ((number = 0; number < 600000; number++)); do :; done
echo ESCAPED
