"""What is special where the tests run: how slow its kernel is, whether it has IPv6, and which meters are to be tested.

``FUMEHOOD_PACE`` says by how much deadlines are longer: user-mode Linux measures it (``tests/uml/init.sh``).
``FUMEHOOD_TEST_METERS`` names the meters, the main one first: a container has no control groups, so its suites run with
``watch`` alone. Without it both are tested, and a missing one is a failure where ``FUMEHOOD_MUST_ENFORCE`` is 1.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from sandbox import Limits

METERS = tuple(os.environ.get("FUMEHOOD_TEST_METERS", "cgroup watch").split())
_MOUNTS = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()]
V2 = not any(kind == "cgroup" and "memory" in options.split(",") for _, _, kind, options, *_ in _MOUNTS)
"""Whether the memory controller is one of version 2, where there is any."""
IPV6 = Path("/proc/net/if_inet6").exists()
FILTERED = "\nSeccomp:\t2" in Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
"""Whether we are under a filter ourselves, as in a container: it refuses what guests may not, too."""
PACE = max(1.0, float(os.environ.get("FUMEHOOD_PACE", "1")))
_MOST_WALL_SECONDS = 300.0  # the engine's default ceilings
_MOST_CPU_SECONDS = 600.0


def paced(limits: Limits) -> Limits:
    """Give as much time as this kernel needs for what the machine does in these limits; nothing else is changed."""
    if PACE == 1.0:
        return limits
    return replace(
        limits,
        wall_seconds=max(limits.wall_seconds, min(limits.wall_seconds * PACE, _MOST_WALL_SECONDS)),
        cpu_seconds=max(limits.cpu_seconds, min(limits.cpu_seconds * PACE, _MOST_CPU_SECONDS)),
    )
