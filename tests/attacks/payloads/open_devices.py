# aim: open a device of the machine
# wall: mount: six nodes, and no other can be made
# expect: ok
# control: without devices

import os

known = {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "shm"}
for name in sorted(set(os.listdir("/dev")) - known):
    print("ESCAPED:", name)
for name in (
    "mem",
    "kmem",
    "port",
    "kmsg",
    "fuse",
    "kvm",
    "vda",
    "sda",
    "loop0",
    "net/tun",
    "ptmx",
    "console",
    "vsock",
):
    try:
        os.close(os.open(f"/dev/{name}", os.O_RDONLY))
        print("ESCAPED: opened", name)
    except OSError:
        pass
