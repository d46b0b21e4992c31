# aim: overwrite the program that runs it, for whoever starts it next
# wall: mount: what is shown of the host is read-only
# expect: ok
# control: none, what would have to be made writable is the host's own

import os
import sys

for path in ("/proc/self/exe", "/proc/1/exe", sys.executable, os.path.realpath(sys.executable), "/bin/sh", os.__file__):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try:
            os.close(os.open(path, flags))
            print("ESCAPED:", path)
        except OSError:
            pass
descriptor = os.open("/proc/self/exe", os.O_PATH)
try:
    os.close(os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY))
    print("ESCAPED: by its descriptor")
except OSError:
    pass
