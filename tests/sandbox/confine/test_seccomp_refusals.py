"""Profiles that the compiler takes apart or refuses."""

from __future__ import annotations

import bpf
import pytest

from sandbox.confine.seccomp import (
    Comparison,
    Operator,
    Profile,
    Rule,
    compile_filters,
    shipped_profiles,
)
from sandbox.errors import LayerMissing, SetupError

BOTH = ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")


def test_too_long_a_profile_is_refused() -> None:
    """A profile the kernel would not take is refused when compiled, not when a guest is about to start."""
    rules = tuple(Rule(("read",), None, (Comparison(0, Operator.EQ, value << 32 | 1),)) for value in range(1100))
    profile = Profile(38, BOTH, rules)
    with pytest.raises(SetupError, match="instructions"):
        compile_filters(profile, profile, "x86_64")


def test_an_unconditional_rule_beside_another_is_refused() -> None:
    """An unconditional rule would swallow the others of its call, so a profile that has both is not compiled."""
    profile = Profile(38, BOTH, (Rule(("ioctl",), None), Rule(("ioctl",), 1, (Comparison(1, Operator.EQ, 1),))))
    with pytest.raises(SetupError, match="ioctl"):
        compile_filters(profile, profile, "x86_64")


def test_refusals_win_over_allowances() -> None:
    """Where two conditional rules of one call hold at once, the refusing one answers, in whatever order they stand."""
    allow = Rule(("read",), None, (Comparison(0, Operator.GE, 5),))
    refuse = Rule(("read",), 1, (Comparison(0, Operator.GE, 7),))
    for rules in ((allow, refuse), (refuse, allow)):
        program = compile_filters(Profile(38, BOTH, rules), Profile(None, BOTH, rules[:1]), "x86_64").allow
        assert [bpf.run(program, 0, (value,)) for value in (4, 5, 7)] == ["ENOSYS", "allow", "EPERM"]


def test_unknown_machines_are_a_missing_layer() -> None:
    """Where we have no numbers, or a profile does not cover the machine, the wall cannot stand and we say so."""
    allow, deny = shipped_profiles()
    with pytest.raises(LayerMissing, match="riscv64"):
        compile_filters(allow, deny, "riscv64")
    with pytest.raises(LayerMissing, match="AARCH64"):
        compile_filters(Profile(38, BOTH[:1], allow.rules), deny, "aarch64")
