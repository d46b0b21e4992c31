"""A small classic BPF machine: what the kernel would answer to one call, without asking a kernel."""

from __future__ import annotations

import errno
import struct

ALLOW = "allow"
MACHINE_WORDS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003}
_RET_ALLOW = 0x7FFF0000
_RET_ERRNO = 0x00050000
_CODE = struct.Struct("<HBBI")


def run(program: bytes, number: int, args: tuple[int, ...] = (), machine: str = "x86_64") -> str:
    """Run a filter over one call; ``allow``, the name of an errno, or an exception for what no filter of ours does."""
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, MACHINE_WORDS[machine], 0, *(*args, *(0,) * (6 - len(args))))
    accumulator = at = 0
    while True:
        code, yes, no, k = _CODE.unpack_from(program, at * _CODE.size)
        at += 1
        match code:
            case 0x20:
                if k % 4:
                    raise ValueError(f"load from {k}, not a word's edge")
                (accumulator,) = struct.unpack_from("<I", data, k)
            case 0x54:
                accumulator &= k
            case 0x05:
                at += k
            case 0x15:
                at += yes if accumulator == k else no
            case 0x25:
                at += yes if accumulator > k else no
            case 0x35:
                at += yes if accumulator >= k else no
            case 0x06:
                return _word(k)
            case _:
                raise ValueError(f"operation {code:#x} at {at - 1}")


def stacked(programs: tuple[bytes, ...], number: int, args: tuple[int, ...] = (), machine: str = "x86_64") -> str:
    """Run filters as the kernel stacks them: a refusal beats ALLOW, the filter loaded last (the last here) words it."""
    answers = [run(program, number, args, machine) for program in programs]
    return next((answer for answer in reversed(answers) if answer != ALLOW), ALLOW)


def _word(answer: int) -> str:
    if answer == _RET_ALLOW:
        return ALLOW
    if answer & 0xFFFF0000 == _RET_ERRNO:
        return errno.errorcode[answer & 0xFFFF]
    raise ValueError(f"answer {answer:#x} is neither ALLOW nor ERRNO")
