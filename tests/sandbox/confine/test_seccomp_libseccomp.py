from __future__ import annotations

import os
from typing import TYPE_CHECKING

import bpf
import libseccomp
import pytest
import reading

from sandbox.confine.seccomp import compile_filters, shipped_profiles
from sandbox.confine.seccomp.machines import MACHINES

if TYPE_CHECKING:
    import ctypes


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    """The second opinion; on machines that must enforce its absence is a failure."""
    loaded = libseccomp.load()
    if loaded is None:
        assert os.environ.get("FUMEHOOD_MUST_ENFORCE") != "1", "libseccomp.so.2 must be here"
        pytest.skip("libseccomp.so.2 is not installed")
    return loaded


@pytest.mark.parametrize("machine", MACHINES)
def test_our_numbers_are_those_of_libseccomp(library: ctypes.CDLL, machine: str) -> None:
    """Every call that libseccomp knows on a machine has the same number in our table."""
    numbers = MACHINES[machine].numbers
    known = {name: theirs for name in numbers if (theirs := libseccomp.number(library, name, machine)) is not None}
    assert {name: numbers[name] for name in known} == known
    assert len(known) > 300


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("which", ["allow", "deny"])
def test_our_filters_answer_as_libseccomp_s(library: ctypes.CDLL, machine: str, which: str) -> None:
    """Both compilers make filters of one opinion: on every number, on every compared argument, on foreign machines."""
    document = reading.document("default" if which == "allow" else "deny")
    ours = getattr(compile_filters(*shipped_profiles(), machine), which)
    theirs = libseccomp.compile_document(library, document, machine)
    names = {number: name for name, number in MACHINES[machine].numbers.items()}
    conditional = {name for rule in document["syscalls"] if "args" in rule for name in rule["names"]}
    for number in range(1024):
        name = names.get(number)
        if name is not None and libseccomp.number(library, name, machine) is None:
            continue  # newer than this libseccomp, which then knows no rule for it
        for args in reading.interesting_arguments(name) if name in conditional and name else [(0,) * 6]:
            mine, other = bpf.run(ours, number, args, machine), bpf.run(theirs, number, args, machine)
            assert mine == other, (name or number, args)
        for foreign in bpf.MACHINE_WORDS.keys() - {machine}:
            assert bpf.run(theirs, number, machine=foreign) == bpf.run(ours, number, machine=foreign) == "ENOSYS"
        if machine == "x86_64":
            assert bpf.run(theirs, number | 0x40000000) == bpf.run(ours, number | 0x40000000) == "ENOSYS"


@pytest.mark.parametrize("machine", MACHINES)
def test_a_container_engine_reads_the_container_s_profile_as_we_do(library: ctypes.CDLL, machine: str) -> None:
    """An engine's libseccomp takes every rule, also for the 32-bit doors, and answers as a plain reading says."""
    document = reading.document("container")
    theirs = libseccomp.compile_document(library, document, machine)
    conditional = {name for rule in document["syscalls"] if "args" in rule for name in rule["names"]}
    for name, number in MACHINES[machine].numbers.items():
        if libseccomp.number(library, name, machine) is not None:
            for args in reading.interesting_arguments(name) if name in conditional else [(0,) * 6]:
                assert bpf.run(theirs, number, args, machine) == reading.verdict(document, name, args), (name, args)
    if machine == "x86_64":
        # 20 is getpid at the 32-bit door: some answer, not a kill, which this machine would not know.
        assert bpf.run(theirs, 20, machine="i386") == "allow"
