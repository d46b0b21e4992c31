"""Two seccomp profiles (OCI JSON) -> two classic BPF programs, for any machine we have a system call table of.

Two filters are stacked because a filter cannot both allow a call and refuse some of its arguments: an unconditional
rule swallows the conditional ones. So the first lists what may be called at all, and the second refuses single
arguments of those calls. The kernel runs both and the refusal wins. ::

    allow, deny = shipped_profiles()
    filters = compile_filters(allow, deny, os.uname().machine)

Where no cgroup bounds memory a third is stacked in front: ``compile_filter(shipped_watch_profile(), machine)``. Init,
which runs no guest code, has a short list of its own: ``shipped_init_profile()``.
"""

from sandbox.confine.seccomp.bpf import Filters, compile_filter, compile_filters
from sandbox.confine.seccomp.profile import (
    Comparison,
    Operator,
    Profile,
    Rule,
    load_profile,
    shipped_init_profile,
    shipped_profiles,
    shipped_watch_profile,
)

__all__ = [
    "Comparison",
    "Filters",
    "Operator",
    "Profile",
    "Rule",
    "compile_filter",
    "compile_filters",
    "load_profile",
    "shipped_init_profile",
    "shipped_profiles",
    "shipped_watch_profile",
]
