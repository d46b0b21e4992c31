"""Make system calls given as JSON ``[[number, [argument, ...]], ...]`` and print what came of each: 0 or an errno."""

from __future__ import annotations

import ctypes
import json
import sys


def outcome(number: int, args: list[int]) -> int:
    """Make one call; every argument goes down as 64 bits."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_ulong(arg) for arg in args))
    return ctypes.get_errno() if result == -1 else 0


if __name__ == "__main__":
    print(json.dumps([outcome(number, args) for number, args in json.loads(sys.argv[1])]))  # noqa: T201
