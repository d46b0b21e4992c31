"""Control groups, version 1 or 2, behind one interface: find where groups can be made, and make one for each run.

:func:`probe` answers with a :class:`Hierarchy` that has been proved by making a group, or says why there is none. It is
claimed until it is closed.
"""

from __future__ import annotations

from sandbox.confine.cgroup import v1, v2
from sandbox.confine.cgroup.group import Group, Hierarchy, Unavailable
from sandbox.confine.cgroup.mounts import parse_mountinfo, parse_own_groups
from sandbox.errors import SetupError
from sandbox.meter import MeterLimits

__all__ = ["Group", "Hierarchy", "Unavailable", "locate", "probe"]

_MODEST = MeterLimits(memory_bytes=16 << 20, processes=2, cpus=0.5)


def probe(preferred_parent: str | None = None) -> Hierarchy | Unavailable:
    """Find where we can make groups with memory, pids and cpu control, and prove it by making and removing one.

    Groups go into a child ``fumehood`` of our own group, or of ``preferred_parent``: an existing group, written as
    a path from the top of the mounted hierarchy, the same for every v1 controller. With v2, our own processes are
    moved into a leaf next to it where the kernel demands that and the group is delegated to us. Nothing else that is
    there is moved or changed. Never raises; what is missing is said in ``Unavailable.reason``.
    """
    hierarchy = locate(preferred_parent)
    if isinstance(hierarchy, Unavailable):
        return hierarchy
    try:
        hierarchy.ensure()
        hierarchy.claim()
        hierarchy.create(hierarchy.fresh(), _MODEST).close()
    except OSError as error:
        hierarchy.close()
        return Unavailable(f"{error.filename or hierarchy.parents[0]}: {error.strerror}")
    except SetupError as error:
        hierarchy.close()
        return Unavailable(f"{hierarchy.kind}: {error}")
    return hierarchy


def locate(preferred_parent: str | None = None, proc: str = "/proc") -> Hierarchy | Unavailable:
    """Find where groups would go, reading only; :func:`probe` without its proof. Never raises.

    v1 is taken where it has the memory controller: on hybrid machines the v2 tree beside it controls nothing.
    """
    try:
        with open(f"{proc}/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
            mounts = parse_mountinfo(stream.read())
        with open(f"{proc}/self/cgroup", encoding="utf-8", errors="surrogateescape") as stream:
            own = parse_own_groups(stream.read())
    except OSError as error:
        return Unavailable(f"{error.filename}: {error.strerror}")
    if any("memory" in mount.controllers for mount in mounts):
        return v1.locate(mounts, own, preferred_parent)
    return v2.locate(mounts, own.get(""), preferred_parent)
