# aim: have links, FIFOs, sockets and devices followed when results are collected
# expect: ok
# collect: **
# files: honest.txt
# skipped: symlink special unreadable
# wall: collection: nothing is followed, nothing waited for
# control: without links
# freed: says root:x:0:0

import os
import socket

open("honest.txt", "w").write("honest")
os.symlink("/etc/passwd", "passwd")
os.symlink("/proc/1/environ", "environ")
os.symlink(os.environ["CANARY_FILE"], "canary")
os.symlink("/", "root")
os.symlink(".", "loop")
os.symlink("honest.txt", "inner")
os.link("passwd", "hardlink")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("sock")
os.mkdir("closed")
open("closed/x", "w").write("x")
os.chmod("closed", 0)
open("mode0", "w").write("x")
os.chmod("mode0", 0)
