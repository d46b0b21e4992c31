# aim: write gigabytes from a shell pipeline
# wall: flood ceiling, constant memory
# expect: output_limit
# hits: output

yes "$(head -c 4096 /dev/zero | tr '\\0' x)" &
exec yes >&2
