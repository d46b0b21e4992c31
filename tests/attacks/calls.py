"""Laid beside payloads that make bare system calls: each by its name on this machine, and a line for each answer.

Runs inside, with ``NUMBERS`` in front: name -> number. Numbers are passed as 64 bits, so bits above 32 arrive.
"""

import ctypes
import errno
import json
import os

HIGH = 1 << 32
BAD = (1 << 64) - 4096
"""An address that nobody can map, and a descriptor that nobody has."""
NUMBERS: dict[str, int] = globals().get("NUMBERS", {})
_own = os.getpid()
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
MEMORY = ctypes.create_string_buffer(1 << 16)
PAGE = ctypes.addressof(MEMORY)
"""Where it lies."""


def call(name: str | int, *arguments: int) -> str:
    """Make a call, by name or number; print and give its answer: the name of an errno, or what it returned as text."""
    number = NUMBERS.get(name) if isinstance(name, str) else name
    if number is None:
        return "absent"
    words = [each & (1 << 64) - 1 for each in arguments]
    result = _libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, words))
    if os.getpid() != _own:  # it was a call that makes a process
        os._exit(0)
    answer = errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno())) if result == -1 else str(result)
    print("CALL", json.dumps([name, number, words, answer]), flush=True)  # noqa: T201 - it is how a guest tells
    return answer
