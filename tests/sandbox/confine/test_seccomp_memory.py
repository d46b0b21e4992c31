"""Calls that would hold memory where no meter sees it."""

from __future__ import annotations

import errno

import bpf
import pytest

from sandbox.confine.seccomp import compile_filter, compile_filters, shipped_profiles, shipped_watch_profile
from sandbox.confine.seccomp.machines import MACHINES
from sandbox.confine.seccomp.profile import MAX_U64


@pytest.mark.parametrize("machine", MACHINES)
def test_attributes_of_files_look_unsupported(machine: str) -> None:
    """They can be read, listed and removed; setting one is answered as by a file system that has none."""
    filters = compile_filters(*shipped_profiles(), machine)

    def answers(name: str) -> str:
        return bpf.stacked((filters.deny, filters.allow), MACHINES[machine].numbers[name], (), machine)

    for name in ("setxattr", "lsetxattr", "fsetxattr", "setxattrat"):
        assert getattr(errno, answers(name)) == errno.EOPNOTSUPP
    assert {answers(name) for name in ("getxattr", "listxattr", "removexattr")} == {"allow"}


@pytest.mark.parametrize("machine", MACHINES)
def test_under_a_watch_memory_that_no_process_shows_cannot_be_had(machine: str) -> None:
    """Files without a name and System V objects are refused, whatever the arguments, and large send buffers."""
    program = compile_filter(shipped_watch_profile(), machine)
    refused = {
        name
        for name, number in MACHINES[machine].numbers.items()
        if bpf.run(program, number, machine=machine) != "allow"
    }
    assert refused == {"memfd_create", "shmget", "semget", "msgget"}
    for name in refused:
        for args in ((0,) * 6, (MAX_U64,) * 6):
            assert bpf.run(program, MACHINES[machine].numbers[name], args, machine) == "EPERM"
    answers = [bpf.run(program, MACHINES[machine].numbers["setsockopt"], (3, 1, n), machine) for n in (2, 7)]
    assert answers == ["allow", "EPERM"]
