# aim: read how the host was booted
# wall: masked entries of /proc
# expect: ok
# open: /proc/cmdline is not masked; boot parameters may hold addresses and keys

if open("/proc/cmdline").read().strip():
    print("ESCAPED")
