# aim: read how the host was booted
# expect: ok
# wall: mount: masked entries of /proc
# control: without masks

if open("/proc/cmdline").read().strip():
    print("ESCAPED")
