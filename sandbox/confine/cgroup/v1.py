"""cgroup v1: every controller, or a few together, in a mount of its own.

Sources: Documentation/admin-guide/cgroup-v1/{memory,cpuacct,pids}.rst and Documentation/scheduler/sched-bwc.rst of
Linux 6.18. v1 has no event for memory pressure that would serve us and no way to kill a whole group.
"""

from __future__ import annotations

import contextlib
import errno
import os
from io import FileIO
from typing import TYPE_CHECKING

from sandbox.confine.cgroup.files import number, put, put_if_present
from sandbox.confine.cgroup.group import PARENT, PERIOD_MICROSECONDS, Group, Hierarchy, Unavailable
from sandbox.errors import SetupError
from sandbox.meter import MeterLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.confine.cgroup.mounts import Mount

CONTROLLERS = ("memory", "pids", "cpu", "cpuacct")
_TCP_SHARE = 8  # of the memory limit, and on top of it


class V1Group(Group):
    """A group in the memory, pids, cpu and cpuacct hierarchies, however those are mounted together."""

    kind = "cgroup:v1"
    has_doors = True

    def __init__(self, parents: Mapping[str, str], name: str) -> None:
        self._memory, self._pids, self._cpu, self._cpuacct = (f"{parents[word]}/{name}" for word in CONTROLLERS)
        super().__init__(tuple(dict.fromkeys((self._memory, self._pids, self._cpu, self._cpuacct))))

    def change(self, before: MeterLimits | None, limits: MeterLimits) -> None:
        """Set what differs of memory, swap, pids and cpu limits. Raises SetupError."""
        if before is None or before.memory_bytes != limits.memory_bytes:
            self._bound_memory(
                limits.memory_bytes, raised=before is not None and before.memory_bytes < limits.memory_bytes
            )
        if before is None or before.processes != limits.processes:
            put(self._pids, "pids.max", str(limits.processes))
        if before is None or before.cpus != limits.cpus:
            self._throttle(limits.cpus, throttled=before is not None and before.cpus < _processors())

    def _bound_memory(self, memory_bytes: int, *, raised: bool) -> None:
        text = str(memory_bytes)
        # Memory and swap together may not exceed memory alone, so nothing may be swapped; nor may they, at any moment,
        # be less. A kernel booted with swapaccount=0 has no such file; swappiness 0 is what it has instead.
        swap = "memory.memsw.limit_in_bytes"
        counted = raised and put_if_present(self._memory, swap, text)
        put(self._memory, "memory.limit_in_bytes", text)
        if not counted and not put_if_present(self._memory, swap, text):
            put_if_present(self._memory, "memory.swappiness", "0")
        # v1 counts the buffers of TCP sockets apart from all other memory, and only where they have a limit.
        put_if_present(self._memory, "memory.kmem.tcp.limit_in_bytes", str(memory_bytes // _TCP_SHARE))

    def _throttle(self, cpus: float, *, throttled: bool) -> None:
        if cpus >= _processors():
            if throttled:
                put(self._cpu, "cpu.cfs_quota_us", "-1")
            return
        put(self._cpu, "cpu.cfs_period_us", str(PERIOD_MICROSECONDS))
        try:
            put(self._cpu, "cpu.cfs_quota_us", str(max(1000, int(cpus * PERIOD_MICROSECONDS))))
        except SetupError as error:
            # v1 refuses a quota above that of a group further up: the tighter one binds us anyway.
            if error.errno != errno.EINVAL:
                raise

    def doors(self) -> tuple[FileIO, ...]:
        """Give the groups' ``tasks`` files, open for writing. Raises SetupError.

        A thread that moves itself spares the kernel a lock that every fork and exit on the machine takes, and with it
        the RCU grace period of 5 to 15 ms that moving a process from outside waits for
        (cgroup_procs_write_start, kernel/cgroup/cgroup.c). The kernel judges by who opened the file.
        """
        with contextlib.ExitStack() as opened:
            try:
                doors = [opened.enter_context(FileIO(f"{each}/tasks", "w")) for each in self._directories]
            except OSError as error:
                raise SetupError("cgroup tasks", error.errno or 0, str(error.filename)) from error
            opened.pop_all()
        return tuple(doors)

    def read_files(self) -> tuple[str, ...]:
        """Give what holds the spending, the peaks, and the counts of refusals."""
        return (
            f"{self._cpuacct}/cpuacct.usage",
            f"{self._memory}/memory.usage_in_bytes",
            f"{self._memory}/memory.max_usage_in_bytes",
            f"{self._pids}/pids.current",
            f"{self._pids}/pids.peak",
            f"{self._memory}/memory.oom_control",
            f"{self._pids}/pids.events",
        )

    def cpu_seconds(self, file: str | int) -> float:
        """Read ``cpuacct.usage``. Raises OSError."""
        return number(file) / 1e9


def _processors() -> int:
    return os.cpu_count() or 1


class V1Hierarchy(Hierarchy):
    """The parent groups by controller; co-mounted controllers share a directory."""

    kind = "cgroup:v1"

    def __init__(self, parents: Mapping[str, str]) -> None:
        super().__init__(tuple(dict.fromkeys(parents[word] for word in CONTROLLERS)))
        self._by_controller = dict(parents)

    def ensure(self) -> None:
        """Make the parent groups that are missing. Raises OSError."""
        for parent in self.parents:
            with contextlib.suppress(FileExistsError):
                os.mkdir(parent, 0o755)

    def group(self, name: str) -> V1Group:
        """Return the group of that name; nothing is made yet."""
        return V1Group(self._by_controller, name)


def locate(
    mounts: tuple[Mount, ...], own: Mapping[str, str], preferred_parent: str | None
) -> V1Hierarchy | Unavailable:
    """Find the parent group in each hierarchy, or say what is missing. Reads nothing but its arguments."""
    parents = {}
    for controller in CONTROLLERS:
        mounted = [mount for mount in mounts if controller in mount.controllers]
        if not mounted or controller not in own:
            return Unavailable(f"the {controller} controller of cgroup v1 is not mounted")
        if any("cpuset" in mount.controllers for mount in mounted):
            # A new cpuset group has no cpus and admits nobody until it is given some.
            return Unavailable(f"cpuset shares the mount of the {controller} controller of cgroup v1")
        if preferred_parent is not None:
            found: list[str | None] = [mounted[0].below(preferred_parent)]
        else:
            found = [mount.directory(own[controller]) for mount in mounted]
        home = next((directory for directory in found if directory is not None), None)
        if home is None:
            return Unavailable(f"our own group {own[controller]} is outside what is mounted for {controller}")
        parents[controller] = f"{home}/{PARENT}"
    return V1Hierarchy(parents)
