"""Put compiled filters on this process and become another program: ``loader.py FILTER... -- PROGRAM ARGUMENT...``.

Filters are loaded in the order given; none at all is the control of a test.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from pathlib import Path

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER = 1


class _Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def load(code: bytes) -> None:
    """Load one filter, for good. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(code) // 8, code)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.syscall(_SECCOMP[platform.machine()], _SET_MODE_FILTER, 0, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    split = sys.argv.index("--")
    for filter_path in sys.argv[1:split]:
        load(Path(filter_path).read_bytes())
    os.execv(sys.argv[split + 1], sys.argv[split + 1 :])  # noqa: S606 - a test's own program
