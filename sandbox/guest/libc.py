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

# NEWUSER, NEWPID, NEWNS, NEWNET, NEWIPC, NEWUTS, NEWCGROUP (<linux/sched.h>)
_CLONE_FLAGS = 0x10000000 | 0x20000000 | 0x00020000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
_CLONE_NUMBERS = {"x86_64": 56, "aarch64": 220}
_SIGCHLD = 17
_SIGACTION = {"x86_64": 13, "aarch64": 134}  # rt_sigaction
_SIGNALS = 64
_OPEN_TREE = 428  # these two have one number everywhere (Linux 5.2)
_MOVE_MOUNT = 429
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_AT_FDCWD = -100
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


class _LockedCall(_ctypes.CFuncPtr):
    """A call that keeps the interpreter's lock."""

    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO | _ctypes.FUNCFLAG_PYTHONAPI
    _restype_ = _Long


_process = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type] # None is the process itself, dlopen(3)
_mount, _umount2, _pivot_root, _prctl_call, _capset = (
    _Call(_ctypes.dlsym(_process, name)) for name in ("mount", "umount2", "pivot_root", "prctl", "capset")
)


_syscall, _before_fork, _after_fork_child, _after_fork_parent = (
    _LockedCall(_ctypes.dlsym(_process, name))
    for name in ("syscall", "PyOS_BeforeFork", "PyOS_AfterFork_Child", "PyOS_AfterFork_Parent")
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


def fork_into_namespaces() -> int:
    """Fork into new user, pid, mount, net, ipc, uts and cgroup namespaces; give the pid, 0 in the child.

    clone(2) by its bare number, since glibc's fork takes no flags; around it what os.fork() does for the interpreter.
    The child is single-threaded, as the caller must be. Raises OSError.
    """
    number = _Long(_CLONE_NUMBERS[os.uname().machine])
    _before_fork()
    pid: int = _syscall(number, _Long(_CLONE_FLAGS | _SIGCHLD), None, None, None, None)
    if pid == 0:
        _after_fork_child()
        return 0
    error = _ctypes.get_errno()
    _after_fork_parent()
    if pid == -1:
        raise OSError(error, f"clone: {os.strerror(error)}")
    return pid


def attach_tree(tree: int, folder: str, target: str) -> None:
    """Let ``folder`` of a mount appear at ``target``: what a bind mount does, from a mount that no path leads to."""
    flags = _Long(_OPEN_TREE_CLONE | os.O_CLOEXEC)
    clone = _check(_syscall(_Long(_OPEN_TREE), _Long(tree), os.fsencode(folder), flags), "open_tree")
    try:
        arguments = (_Long(clone), b"", _Long(_AT_FDCWD), os.fsencode(target), _Long(_MOVE_MOUNT_F_EMPTY_PATH))
        _check(_syscall(_Long(_MOVE_MOUNT), *arguments), f"move_mount to {target}")
    finally:
        os.close(clone)


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


def default_signals() -> None:
    """Let every signal do what it does by default, whoever started us and whatever they ignored (signal(7)).

    By the bare call: glibc refuses those it keeps for itself, and they too are inherited.
    """
    for number in range(1, _SIGNALS + 1):
        _syscall(_Long(_SIGACTION[os.uname().machine]), _Long(number), bytes(32), None, _Long(8))  # KILL, STOP refuse


def set_dumpable(value: int) -> None:
    """With 0, no process of the same user may trace us or open our ``/proc`` entries (proc(5), ptrace(2))."""
    _prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, value)


def drop_bounding_set() -> None:
    """Let no later exec give any capability. What this process holds it keeps (capabilities(7))."""
    capability = 0
    while True:
        try:
            _prctl("PR_CAPBSET_DROP", _PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno == _EINVAL and capability:  # one past the last capability this kernel knows
                break
            raise
        capability += 1


def drop_capabilities() -> None:
    """Empty the ambient, inheritable, permitted and effective sets; with the bounding set none can come back."""
    _prctl("PR_CAP_AMBIENT_CLEAR_ALL", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
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
