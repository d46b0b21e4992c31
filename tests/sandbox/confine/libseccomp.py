"""libseccomp as a second opinion: its numbers, and the filters it builds from the same OCI documents."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_DOORS = {"SCMP_ARCH_X86": 0x40000003, "SCMP_ARCH_X32": 0x4000003E, "SCMP_ARCH_ARM": 0x40000028}
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_ATTRIBUTE_BADARCH = 2
_UNKNOWN = -1
_OPERATORS = {
    f"SCMP_CMP_{word}": number for number, word in enumerate(("NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"), start=1)
}


class _Compare(ctypes.Structure):
    """``struct scmp_arg_cmp``."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


def load() -> ctypes.CDLL | None:
    """Give the library with its prototypes declared, or None where it is not installed."""
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.restype = None
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.seccomp_arch_add.argtypes = library.seccomp_arch_remove.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    library.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
    library.seccomp_syscall_resolve_name_arch.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.POINTER(_Compare),
    ]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library


def number(library: ctypes.CDLL, name: str, machine: str) -> int | None:
    """Give the number this libseccomp has for a call; None if the call is unknown or the machine has none."""
    resolved: int = library.seccomp_syscall_resolve_name_arch(ARCHITECTURES[machine], name.encode())
    return resolved if resolved >= 0 else None


def compile_document(library: ctypes.CDLL, document: dict[str, Any], machine: str) -> bytes:
    """Build one document's filter as a container runtime would, a foreign architecture answered with ENOSYS."""
    context = library.seccomp_init(_action(document["defaultAction"], document.get("defaultErrnoRet", errno.EPERM)))
    try:
        _check(library.seccomp_attr_set(context, _ATTRIBUTE_BADARCH, _ERRNO | errno.ENOSYS))
        if os.uname().machine != machine:
            _check(library.seccomp_arch_add(context, ARCHITECTURES[machine]))
            _check(library.seccomp_arch_remove(context, ARCHITECTURES[os.uname().machine]))
        for entry in document.get("archMap", []):
            if entry["architecture"] == f"SCMP_ARCH_{machine.upper()}":
                for door in entry["subArchitectures"]:
                    _check(library.seccomp_arch_add(context, _DOORS[door]))
        for rule in document["syscalls"]:
            args = [
                _Compare(arg["index"], _OPERATORS[arg["op"]], arg["value"], arg.get("valueTwo", 0))
                for arg in rule.get("args", [])
            ]
            for name in rule["names"]:
                call = library.seccomp_syscall_resolve_name(name.encode())
                if call != _UNKNOWN:
                    action = _action(rule["action"], rule.get("errnoRet", errno.EPERM))
                    _check(
                        library.seccomp_rule_add_array(context, action, call, len(args), (_Compare * len(args))(*args))
                    )
        return _export(library, context)
    finally:
        library.seccomp_release(context)


def _action(word: str, number: int) -> int:
    return _ALLOW if word == "SCMP_ACT_ALLOW" else _ERRNO | number


def _check(result: int) -> None:
    if result < 0:
        raise OSError(-result, os.strerror(-result))


def _export(library: ctypes.CDLL, context: int) -> bytes:
    descriptor = os.memfd_create("filter")
    try:
        _check(library.seccomp_export_bpf(context, descriptor))
        return os.pread(descriptor, 1 << 20, 0)
    finally:
        os.close(descriptor)
