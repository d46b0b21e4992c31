# aim: write gigabytes from a shell pipeline
# wall: output: the server's ceiling; memory stays constant
# expect: output_limit
# hits: output
# control: without flood

yes "$(head -c 4096 /dev/zero | tr '\0' x)" | head -c 20000000
echo ESCAPED >&2
