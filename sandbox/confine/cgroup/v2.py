"""cgroup v2: one tree; a group with processes may not hand controllers on to its children.

Source: Documentation/admin-guide/cgroup-v2.rst of Linux 6.18 ("No Internal Process Constraint", "Delegation") and
systemd's CGROUP_DELEGATION.md (what ``Delegate=yes`` permits, and the ``user.delegate`` attribute that marks it).
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING

from sandbox.confine.cgroup.files import entry, put, put_if_present, words, write
from sandbox.confine.cgroup.group import PARENT, PERIOD_MICROSECONDS, Group, Hierarchy, Unavailable
from sandbox.meter import MeterLimits

if TYPE_CHECKING:
    from sandbox.confine.cgroup.mounts import Mount

CONTROLLERS = ("memory", "pids", "cpu")
LEAF = "supervisor"
"""The child group that our own processes move into; also the name to give systemd's ``DelegateSubgroup=``."""

_ATTEMPTS = 16


class V2Group(Group):
    """One directory with everything in it."""

    kind = "cgroup:v2"

    def __init__(self, directory: str) -> None:
        super().__init__((directory,))
        self._directory = directory

    def change(self, before: MeterLimits | None, limits: MeterLimits) -> None:
        """Set what differs of memory, swap, pids and cpu limits. Raises SetupError."""
        if before is None:
            put_if_present(self._directory, "memory.swap.max", "0")  # absent where the kernel has no swap
        if before is None or before.memory_bytes != limits.memory_bytes:
            put(self._directory, "memory.max", str(limits.memory_bytes))
        if before is None or before.processes != limits.processes:
            put(self._directory, "pids.max", str(limits.processes))
        if before is None or before.cpus != limits.cpus:
            throttled = limits.cpus < (os.cpu_count() or 1)
            quota = str(max(1000, int(limits.cpus * PERIOD_MICROSECONDS))) if throttled else "max"
            put(self._directory, "cpu.max", f"{quota} {PERIOD_MICROSECONDS}")

    def read_files(self) -> tuple[str, ...]:
        """Give what holds the spending, the peaks, and the counts of refusals.

        ``memory.peak`` needs Linux 5.19, ``pids.peak`` 6.11.
        """
        names = "cpu.stat memory.current memory.peak pids.current pids.peak memory.events pids.events"
        return tuple(f"{self._directory}/{name}" for name in names.split())

    def cpu_seconds(self, file: str | int) -> float:
        """Read ``cpu.stat``. Raises OSError."""
        return entry(file, "usage_usec") / 1e6


class V2Hierarchy(Hierarchy):
    """Groups are made in ``<home>/fumehood``; ``evacuate`` says that our processes must leave ``home`` first."""

    kind = "cgroup:v2"

    def __init__(self, home: str, *, evacuate: bool) -> None:
        super().__init__((f"{home}/{PARENT}",))
        self.home = home
        self.evacuate = evacuate

    def ensure(self) -> None:
        """Enable the controllers down to our parent group, moving our own processes if that is due. Raises OSError."""
        if self.evacuate:
            _evacuate(self.home)
        else:
            _enable(self.home)
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.parents[0], 0o755)
        _enable(self.parents[0])

    def group(self, name: str) -> V2Group:
        """Return the group of that name; nothing is made yet."""
        return V2Group(f"{self.parents[0]}/{name}")


def locate(mounts: tuple[Mount, ...], own: str | None, preferred_parent: str | None) -> V2Hierarchy | Unavailable:
    """Decide where groups go and whether our processes must move, or say what is missing. Changes nothing."""
    mounted = [mount for mount in mounts if mount.version == 2]  # noqa: PLR2004 - the version's own number
    if not mounted or own is None:
        return Unavailable("cgroup v2 is not mounted")
    here = next((found for mount in mounted if (found := mount.directory(own)) is not None), None)
    if preferred_parent is not None:
        home = mounted[0].below(preferred_parent)
    elif here is None:
        return Unavailable(f"our own group {own} is outside what is mounted")
    else:
        # We may have moved, or systemd may have put us, into the leaf: then the delegated group is the one above.
        home = os.path.dirname(here) if own.endswith(f"/{LEAF}") else here
    try:
        return _decide(home, here, own)
    except OSError as error:
        return Unavailable(f"{error.filename}: {error.strerror}")


def _decide(home: str, here: str | None, own: str) -> V2Hierarchy | Unavailable:
    offered = set(words(f"{home}/cgroup.controllers"))
    missing = [word for word in CONTROLLERS if word not in offered]
    if missing:
        return Unavailable(f"{home} is not given the controllers {', '.join(missing)} (systemd: Delegate=yes)")
    if here is not None and not os.access(f"{os.path.commonpath((home, here))}/cgroup.procs", os.W_OK):
        # To move a process one must be able to write in the closest group above both ends.
        return Unavailable(f"no right to move processes from {here} to {home} (systemd: Delegate=yes)")
    enabled = set(words(f"{home}/cgroup.subtree_control")).issuperset(CONTROLLERS)
    real_root = not os.path.exists(f"{home}/cgroup.type")
    if enabled or real_root or not words(f"{home}/cgroup.procs"):
        return V2Hierarchy(home, evacuate=False)
    if home != here:
        return Unavailable(f"{home} holds processes that are not ours to move")
    if not _delegated(home, namespace_root=own == "/"):
        return Unavailable(f"{home} holds our process and is not delegated to us (systemd: Delegate=yes)")
    return V2Hierarchy(home, evacuate=True)


def _delegated(home: str, *, namespace_root: bool) -> bool:
    """Say whether what is in the group may be rearranged by us.

    It may at the root of a cgroup namespace (a container: all inside is one service), where systemd left its mark,
    and, for systemd before 251 which leaves none that a user can read, where the ownership of the tree changes to us.
    """
    if namespace_root:
        return True
    for attribute in ("user.delegate", "trusted.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(home, attribute) == b"1":
                return True
    user = os.geteuid()
    return user != 0 and os.stat(home).st_uid == user and os.stat(os.path.dirname(home)).st_uid != user


def _enable(directory: str) -> None:
    enabled = words(f"{directory}/cgroup.subtree_control")
    missing = [word for word in CONTROLLERS if word not in enabled]
    if missing:
        write(f"{directory}/cgroup.subtree_control", " ".join(f"+{word}" for word in missing))


def _evacuate(home: str) -> None:
    """Move all processes of ``home`` into its leaf and enable the controllers; undone if that does not succeed."""
    leaf = f"{home}/{LEAF}"
    moved: list[str] = []
    try:
        for attempt in range(_ATTEMPTS):
            try:
                _enable(home)
            except OSError as error:
                # Busy: processes are inside. Busy again after the move: one of them forked meanwhile.
                if error.errno != errno.EBUSY or attempt == _ATTEMPTS - 1:
                    raise
                moved += _move(home, leaf)
            else:
                return
    except OSError:
        for pid in moved:
            with contextlib.suppress(OSError):
                write(f"{home}/cgroup.procs", pid)
        with contextlib.suppress(OSError):
            os.rmdir(leaf)
        raise


def _move(home: str, leaf: str) -> list[str]:
    with contextlib.suppress(FileExistsError):
        os.mkdir(leaf, 0o755)
    pids = words(f"{home}/cgroup.procs")
    for pid in pids:
        if pid == "0":
            raise OSError(errno.EPERM, "a process of another pid namespace is inside", home)
        with contextlib.suppress(ProcessLookupError):
            write(f"{leaf}/cgroup.procs", pid)
    return pids
