# aim: read how the host was booted
# wall: masked entries of /proc
# expect: ok

if open("/proc/cmdline").read().strip():
    print("ESCAPED")
