"""Start a process under another kernel uid, as root, without a program in between.

Credentials belong to threads; it is glibc that makes its wrappers change them for a whole process (nptl(7)). The bare
calls change the calling thread's alone, and what that thread starts inherits them. The saved uid stays 0, so the thread
can come back; execve(2) overwrites it with the effective one and drops every capability of a uid that is not 0, so what
was started cannot. A side effect is that the process stops being dumpable, which a service that runs hostile code can
only welcome (credentials(7), prctl(2), capabilities(7)).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterator

from sandbox.errors import SetupError

# setresuid, setresgid, setgroups
_NUMBERS = {"x86_64": (117, 119, 116), "aarch64": (147, 149, 159)}
_KEEP_ROOT = 0
_NO_CHANGE = 2**32 - 1  # what setresuid(2) takes for "leave it as it is"

_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def started_as(uid: int, machine: str) -> Iterator[None]:
    """What this thread starts inside the block runs as user and group ``uid``, in no other group.

    Raises SetupError when the kernel refuses, and when it does not give root back.
    """
    if not 0 < uid < _NO_CHANGE:
        raise SetupError("setresuid", errno.EINVAL, f"{uid} is not a guest's uid")
    setresuid, setresgid, setgroups = _NUMBERS[machine]
    groups = os.getgroups()
    _call("setgroups", setgroups, 0, None)
    try:
        _call("setresgid", setresgid, uid, uid, _KEEP_ROOT)
        _call("setresuid", setresuid, uid, uid, _KEEP_ROOT)
        yield
    finally:
        _call("setresuid back", setresuid, 0, 0, 0)
        _call("setresgid back", setresgid, 0, 0, 0)
        _call("setgroups back", setgroups, len(groups), (ctypes.c_uint32 * len(groups))(*groups))


def _call(name: str, number: int, *arguments: object) -> None:
    if _libc.syscall(ctypes.c_long(number), *arguments) == -1:
        raise SetupError(name, ctypes.get_errno())
