"""What a run's init may still do: its own filter against a plain reading of its document, and against the guests'."""

from __future__ import annotations

import bpf
import pytest
import reading

from sandbox.confine.seccomp import compile_filter, compile_filters, shipped_init_profile, shipped_profiles
from sandbox.confine.seccomp.machines import MACHINES


@pytest.mark.parametrize("machine", MACHINES)
def test_init_may_do_what_it_still_has_to_and_nothing_more(machine: str) -> None:
    """Each number as its document reads; beyond what guests may do, only what finishes the root and gives up power."""
    document = reading.document("init")
    names = {number: name for name, number in MACHINES[machine].numbers.items()}
    guests = compile_filters(*shipped_profiles(), machine).allow
    program = compile_filter(shipped_init_profile(), machine)
    beyond = set()
    allowed_to_guests = {
        name
        for name in ("capset", "prctl")
        if bpf.run(guests, MACHINES[machine].numbers[name], machine=machine) == bpf.ALLOW
    }
    for number in range(1024):
        name = names.get(number)
        got = bpf.run(program, number, machine=machine)
        assert got == reading.verdict(document, name)
        if got == bpf.ALLOW and bpf.run(guests, number, machine=machine) != bpf.ALLOW:
            beyond.add(name)
    assert beyond == {"mount", "open_tree", "move_mount", "sched_setaffinity", "capset", "prctl"} - allowed_to_guests
    for name in ("execve", "clone", "clone3", "socket", "connect", "ptrace", "setns", "unshare", "ioctl", "unlinkat"):
        assert bpf.run(program, MACHINES[machine].numbers[name], machine=machine) == "ENOSYS"
