from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.confine.seccomp import compile_filters, shipped_profiles
from sandbox.confine.seccomp.machines import MACHINES

HERE = Path(__file__).parent
MACHINE = os.uname().machine
HIGH = 1 << 32
MINUS_ONE = (1 << 64) - 1
NOBODY = 0x7FFFFFFF
PROBES = [
    ("unshare", [0]),
    ("setns", [MINUS_ONE, 0]),
    ("umount2", [0, 0]),
    ("clone", [0x10000200]),
    ("clone", [0x10000200 | HIGH]),
    ("ptrace", [16, NOBODY, 0, 0]),
    ("process_vm_readv", [NOBODY, 0, 0, 0, 0, 1]),
    ("pidfd_getfd", [MINUS_ONE, 0, 0]),
    ("keyctl", [9999]),
    ("add_key", [0, 0, 0, 0, 0]),
    ("name_to_handle_at", [MINUS_ONE, 0, 0, 0, MINUS_ONE]),
    ("inotify_init1", [MINUS_ONE]),
    ("fcntl", [MINUS_ONE, 1026, 0]),
    ("ioctl", [MINUS_ONE, 0x5412, 0]),
    ("ioctl", [MINUS_ONE, 0x5412 | HIGH, 0]),
    ("ioctl", [MINUS_ONE, 0x541C | HIGH, 0]),
    ("setsockopt", [MINUS_ONE, 1, 26, 0, 0]),
    ("socket", [16, 3, 0]),
    ("socket", [16 | HIGH, 3, 0]),
    ("prlimit64", [NOBODY, 7, 0, 0]),
    ("personality", [0x40000]),
    ("prctl", [22, 99, 0, 0, 0]),
    ("seccomp", [99, 0, 0]),
    ("syncfs", [MINUS_ONE]),
    ("mq_unlink", [0]),
    ("sched_setaffinity", [NOBODY, 0, 0]),
    ("sched_setscheduler", [NOBODY, 5, 0]),
    ("setpriority", [0, NOBODY, 19]),
    ("ioprio_set", [1, NOBODY, 3 << 13]),
    ("setrlimit", [4, 0]),
    ("prlimit64", [0, 4, 8, 0]),
    ("mmap", [0, 0, 0, 0x40022, MINUS_ONE, 0]),
    ("memfd_create", [0, 4]),
    ("shmget", [0, 0, 0o5600]),
    ("setsockopt", [MINUS_ONE, 41, 6, 0, 0]),
    ("fadvise64", [MINUS_ONE, 0, 0, 4]),
]
# mov eax, 20 (getpid); int 0x80; cdqe; ret
INT_80 = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b814000000cd804898c3"))
call = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print(call())
"""


@pytest.fixture(scope="module")
def filters(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Both filters of this machine as files, in loading order."""
    folder = tmp_path_factory.mktemp("filters")
    compiled = compile_filters(*shipped_profiles(), MACHINE)
    (folder / "deny").write_bytes(compiled.deny)
    (folder / "allow").write_bytes(compiled.allow)
    return [str(folder / "deny"), str(folder / "allow")]


def run_python(filters: list[str], *argv: str) -> subprocess.CompletedProcess[str]:
    """Run an interpreter that has ``filters`` on it before its first instruction."""
    loader = [sys.executable, "-I", "-S", str(HERE / "loader.py"), *filters, "--", sys.executable, *argv]
    return subprocess.run(loader, capture_output=True, text=True, timeout=60, check=False)


def outcomes(filters: list[str], probes: list[tuple[str, list[int]]]) -> list[str]:
    """What this kernel answers to each probe."""
    calls = json.dumps([[MACHINES[MACHINE].numbers[name], args] for name, args in probes])
    done = run_python(filters, "-I", "-S", str(HERE / "probe.py"), calls)
    assert done.returncode == 0, done.stderr
    return [errno.errorcode.get(number, "done") for number in json.loads(done.stdout)]


def test_the_kernel_refuses_what_the_profile_refuses(filters: list[str]) -> None:
    """With both filters every probe is EPERM. Without them the kernel has another answer, so the filters said it."""
    inside, control = outcomes(filters, PROBES), outcomes([], PROBES)
    assert [probe for probe, answer in zip(PROBES, inside, strict=True) if answer != "EPERM"] == []
    # In a container the engine's own filter may already refuse some; then those prove nothing, but most must.
    assert sum(answer != "EPERM" for answer in control) >= 12


def test_clone3_looks_absent(filters: list[str]) -> None:
    """``clone3`` and numbers no kernel has are ENOSYS, so that a C library falls back; the control has ``clone3``."""
    assert outcomes(filters, [("clone3", [0, 0])]) == ["ENOSYS"]
    assert outcomes([], [("clone3", [0, 0])]) == ["EINVAL"]


def test_no_filter_can_follow(filters: list[str]) -> None:
    """The allow-list must be loaded last: after it no filter loads, which is why the order is part of the contract."""
    assert run_python(filters, "-c", "").returncode == 0
    wrong = run_python(filters[::-1], "-c", "")
    assert wrong.returncode != 0
    assert "PermissionError" in wrong.stderr


@pytest.mark.skipif(MACHINE != "x86_64", reason="int 0x80 is an x86 instruction")
def test_int_80_is_answered_enosys(filters: list[str]) -> None:
    """The 32-bit door answers ENOSYS and kills nobody; without the filters it opens, where the kernel has it."""
    inside, control = run_python(filters, "-c", INT_80), run_python([], "-c", INT_80)
    assert (inside.returncode, int(inside.stdout)) == (0, -errno.ENOSYS)
    assert control.returncode != 0 or int(control.stdout) != -errno.ENOSYS


def test_an_honest_guest_notices_nothing(filters: list[str]) -> None:
    """Threads, every kind of child, SQLite, asyncio, sockets and files work the same with and without the filters."""
    program = str(HERE / "guest_program.py")
    inside, control = run_python(filters, program), run_python([], program)
    assert inside.returncode == 0, inside.stderr
    assert json.loads(inside.stdout) == json.loads(control.stdout)
    assert inside.stderr == control.stderr == ""
