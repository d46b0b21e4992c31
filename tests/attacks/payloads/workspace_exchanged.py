# aim: have another folder collected in place of the workspace
# wall: collection: a mount point cannot be moved, and the walk follows no link
# expect: ok
# collect: **
# files: honest
# control: none, there is only the collection

import os

open("honest", "w").write("x")
for call, arguments in (
    (os.rename, ("/workspace", "/tmp/old")),
    (os.rmdir, ("/workspace",)),
    (os.symlink, ("/etc", "/workspace")),
    (os.rename, ("/tmp", "/workspace/tmp")),
    (os.link, ("/etc/passwd", "/workspace/passwd")),
):
    try:
        call(*arguments)
        print("ESCAPED:", call.__name__, arguments)
    except OSError:
        pass
