# aim: read secrets of the host, straight and by every root and cwd that /proc shows
# expect: ok
# wall: mount: another root
# control: without mount

import os

canary = os.environ["CANARY_FILE"]
roots = ["", "/proc/1/root", "/proc/self/root", "/proc/1/cwd", "/proc/self/cwd/..", "/proc/self/root/../.."]
for root in roots:
    for path in ("/root", "/home", "/var/lib", "/boot", "/sys/kernel", "/run/fumehood", os.path.dirname(canary)):
        try:
            print(f"ESCAPED: {root + path}", os.listdir(root + path)[:3])
        except OSError:
            pass
    for path in ("/etc/shadow", "/etc/ssh/sshd_config", "/proc/1/environ", canary):
        try:
            print(f"ESCAPED: {root + path}", open(root + path, "rb").read(100))
        except OSError:
            pass
