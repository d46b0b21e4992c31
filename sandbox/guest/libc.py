"""The few kernel calls that the standard library does not wrap. Each raises OSError with the call's name.

Through ``_ctypes``, not ``ctypes``: the package around it costs init three milliseconds and gives it nothing.
Structures are passed as the bytes they are.

Sources: mount(2), umount2(2), pivot_root(2), prctl(2), capset(2), seccomp(2), <linux/capability.h>, <linux/filter.h>.
"""

from __future__ import annotations

import _ctypes
import os
import sys

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_FILTER_INSTRUCTION_BYTES = 8
_EINVAL = 22


class _Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - it is what ctypes.c_long is
    _type_ = "l"


class _CharP(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - and this ctypes.c_char_p
    _type_ = "z"


class _Call(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Long


_process = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type] # None is the process itself, dlopen(3)
_mount, _umount2, _pivot_root, _prctl_call, _capset = (
    _Call(_ctypes.dlsym(_process, name)) for name in ("mount", "umount2", "pivot_root", "prctl", "capset")
)


def _check(result: int, call: str) -> int:
    if result & 0xFFFFFFFF == 0xFFFFFFFF:  # noqa: PLR2004 - these return an int; only its low half is defined
        number = _ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Attach a file system, or change how one is attached (mount(2))."""
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    _check(_mount(encoded[0], encoded[1], encoded[2], _Long(flags), encoded[3]), f"mount on {target}")


def unmount(target: str, flags: int) -> None:
    """Detach a file system (umount2(2))."""
    _check(_umount2(os.fsencode(target), flags), f"umount {target}")


def enter_root(new_root: str) -> None:
    """Make ``new_root`` the root and drop the old one: pivot_root(2), the form without a place for the old root."""
    os.chdir(new_root)
    _check(_pivot_root(b".", b"."), "pivot_root")
    unmount(".", MNT_DETACH)
    os.chdir("/")


def _prctl(call: str, option: int, *arguments: int) -> int:
    padded = (*arguments, 0, 0, 0, 0)[:4]
    return _check(_prctl_call(option, *map(_Long, padded)), call)


def die_with_parent(signal_number: int) -> None:
    """Ask for a signal when the thread that spawned our parent process ends. Cleared by gaining privileges."""
    _prctl("PR_SET_PDEATHSIG", _PR_SET_PDEATHSIG, signal_number)


def set_dumpable(value: int) -> None:
    """With 0, no process of the same user may trace us or open our ``/proc`` entries (proc(5), ptrace(2))."""
    _prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, value)


def drop_capabilities() -> None:
    """Empty the ambient, bounding, inheritable, permitted and effective sets; none can come back (capabilities(7))."""
    _prctl("PR_CAP_AMBIENT_CLEAR_ALL", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    capability = 0
    while True:
        try:
            _prctl("PR_CAPBSET_DROP", _PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == _EINVAL and capability:  # one past the last capability this kernel knows
                break
            raise
        capability += 1
    header = _CAPABILITY_VERSION_3.to_bytes(4, sys.byteorder) + bytes(4)  # of this process
    _check(_capset(header, bytes(24)), "capset")


def forbid_new_privileges() -> None:
    """No exec of ours or our descendants gains anything (PR_SET_NO_NEW_PRIVS)."""
    _prctl("PR_SET_NO_NEW_PRIVS", _PR_SET_NO_NEW_PRIVS, 1)


def load_filter(program: bytes) -> None:
    """Stack one classic BPF program (packed ``struct sock_filter``) onto this process's seccomp filters."""
    pointer = bytes(memoryview(_CharP(program)))
    count = len(program) // _FILTER_INSTRUCTION_BYTES
    descriptor = _CharP(count.to_bytes(2, sys.byteorder) + bytes(len(pointer) - 2) + pointer)  # struct sock_fprog
    _prctl("PR_SET_SECCOMP", _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, _address(descriptor))


def _address(text: _CharP) -> int:
    return int.from_bytes(memoryview(text), sys.byteorder)
