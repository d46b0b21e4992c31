# aim: find a call that was forgotten: every number of this machine, of x32 and of int 0x80, with arguments that do nothing
# wall: seccomp: what is not on the list is refused, by every door
# expect: ok
# limits: wall_seconds=60.0 output_bytes=200000
# control: without seccomp

import ctypes
import errno
import json
import mmap
import os
import select
import signal

BAD = [ctypes.c_ulong((1 << 64) - 1)] * 6
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def native(number):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *BAD)
    return errno.errorcode.get(ctypes.get_errno(), "?") if result == -1 else "done"


def int80(number):
    result = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(address)(number, -1)
    return errno.errorcode.get(-result, "done")


def walk(call, low, high):
    """Give number -> answer. Each stretch is a child's; where one ends, stands still or doubles, another goes on behind."""
    answers = {}
    while low < high:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            kept, own = os.dup2(writer, 200), os.getpid()
            for number in range(low, high):
                os.write(kept, f"{number} gone\n".encode())
                answer = call(number)
                if os.getpid() == own:
                    os.write(kept, f"{number} {answer}\n".encode())
                else:
                    os._exit(0)
            os._exit(0)
        os.close(writer)
        told = b""
        while select.select([reader], [], [], 0.5)[0] and (more := os.read(reader, 65536)):
            told += more
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        answers |= dict(line.split(" ") for line in told.decode().splitlines())
        low = max(map(int, answers), default=low) + 1
    return answers


found = walk(native, 0, 520)
print("NATIVE", json.dumps(found))
if found["425"] != "EPERM":
    print("ESCAPED: io_uring_setup", found["425"])
uml = "User Mode Linux" in open("/proc/cpuinfo").read()  # where int 0x80 is an ordinary call
if os.uname().machine == "x86_64" and not uml:
    x32 = walk(native, 0x40000000, 0x40000000 + 600)
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(bytes.fromhex("5389f889f389f189f2cd805bc3"))
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    old = walk(int80, 0, 480)
    for name, answers in (("x32", x32), ("int 0x80", old)):
        others = {number: answer for number, answer in answers.items() if answer != "ENOSYS"}
        print(name, len(answers), "calls")
        if others:
            print("ESCAPED:", name, json.dumps(others))
