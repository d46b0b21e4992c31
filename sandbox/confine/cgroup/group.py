"""What both cgroup versions share: making, reading, killing and removing one group, and sweeping up dead ones.

Plain descriptors and string paths rather than pathlib: a group is made and removed for every run.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, replace
from io import FileIO
from typing import TYPE_CHECKING

from sandbox import claim
from sandbox.confine.cgroup.files import entry, number, number_if_present, put, words, write
from sandbox.errors import SetupError
from sandbox.meter import Meter, MeterLimits, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

PERIOD_MICROSECONDS = 100_000
"""The span over which a cpu quota is counted (Documentation/scheduler/sched-bwc.rst)."""

PARENT = "fumehood"
_SWEEPABLE = re.compile(rf"({claim.NAME})(?:\.[A-Za-z0-9_-]+)*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PATIENCE_SECONDS = 3.0
_PAUSES = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No group can be made here; ``reason`` is a sentence for the operator."""

    reason: str


class Group(ABC):
    """One group of one run: a Meter. Its directories are one per mount; v2 has a single one."""

    kind: str
    has_doors: bool = False
    poll_seconds: float | None = None

    def __init__(self, directories: tuple[str, ...]) -> None:
        self._directories = directories
        self._made: list[str] = []
        self._lock = threading.Lock()
        self._killed = False
        self._limits: MeterLimits | None = None
        """What has been written; None where nothing has, or a write failed in its midst."""
        self._open: dict[str, int] = {}
        self.left: deque[Group] = deque()
        """Where a group goes that could not be removed; its hierarchy tries again."""
        self._last = Reading(
            cpu_seconds=0.0,
            memory_bytes=0,
            peak_memory_bytes=None,
            processes=0,
            peak_processes=None,
            oom_kills=0,
            forks_refused=0,
        )

    def limit(self, limits: MeterLimits) -> None:
        """Write what has not been written already. Raises SetupError with the file's name as its step."""
        before, self._limits = self._limits, None
        self.change(before, limits)
        self._limits = limits

    @abstractmethod
    def change(self, before: MeterLimits | None, limits: MeterLimits) -> None:
        """Write what differs from ``before``; everything where that is None. Raises SetupError."""

    def prepare(self) -> None:
        """Open what :meth:`look` reads. Never raises: what cannot be opened is opened for each look."""
        for path in self.read_files():
            with contextlib.suppress(OSError):
                self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def _file(self, path: str) -> str | int:
        return self._open.get(path, path)

    @abstractmethod
    def read_files(self) -> tuple[str, ...]:
        """Give the paths of what :meth:`look` reads: cpu time, memory, its peak, tasks, their peak, events of both."""

    @abstractmethod
    def cpu_seconds(self, file: str | int) -> float:
        """Read the cpu time from the first of these, by its path or open. Raises OSError."""

    def look(self) -> Reading:
        """Read the kernel's numbers; peaks are None where this kernel keeps none. Raises OSError."""
        cpu, memory, peak_memory, processes, peak_processes, memory_events, pids_events = map(
            self._file, self.read_files()
        )
        return Reading(
            cpu_seconds=self.cpu_seconds(cpu),
            memory_bytes=number(memory),
            peak_memory_bytes=number_if_present(peak_memory),
            processes=number(processes),
            peak_processes=number_if_present(peak_processes),
            oom_kills=entry(memory_events, "oom_kill"),
            forks_refused=entry(pids_events, "max"),
        )

    def make(self) -> None:
        """Make the directories. Raises OSError; :meth:`close` takes away those that were made before it."""
        for directory in self._directories:
            os.mkdir(directory, 0o755)
            self._made.append(directory)

    def doors(self) -> tuple[FileIO, ...]:
        """Give nothing: a process of v2 cannot enter by itself any cheaper than it can be moved."""
        return ()

    def add(self, pid: int) -> None:
        """Move the process with all its threads into the group. Raises SetupError."""
        if pid <= 0:
            # The kernel takes 0 for the writer: that would put the service itself under the limits.
            raise SetupError("cgroup cgroup.procs", errno.EINVAL, f"pid {pid}")
        for directory in self._directories:
            put(directory, "cgroup.procs", str(pid))

    def read(self) -> Reading:
        """Look. Never raises: a group that is gone reads as its last look."""
        try:
            seen = self.look()
        except OSError:
            return self._last
        with self._lock:
            last = self._last
            self._last = replace(
                seen,
                cpu_seconds=max(seen.cpu_seconds, last.cpu_seconds),
                peak_memory_bytes=_peak(seen.peak_memory_bytes, seen.memory_bytes, last.peak_memory_bytes),
                peak_processes=_peak(seen.peak_processes, seen.processes, last.peak_processes),
                forks_refused=last.forks_refused if self._killed else seen.forks_refused,
            )
            return self._last

    def kill(self) -> None:
        """Send SIGKILL to every process in the group and wait, bounded, for them to leave it. Never raises."""
        if not self._killed:
            # Where the kernel cannot kill a whole group at once we forbid forks first, or a fork bomb outruns the
            # loop; what is refused from here on is our doing and no longer the guest's limit.
            self.read()
            self._killed = True
        for directory in self._made:
            slay(directory)

    def close(self) -> None:
        """Kill what is left and remove the group. Safe to call twice. Raises SetupError when the kernel refuses."""
        while self._open:
            os.close(self._open.popitem()[1])
        while self._made:
            directory = self._made[-1]
            try:
                remove(directory)
            except OSError as error:
                self.left.append(self)
                raise SetupError("cgroup rmdir", error.errno or 0, directory) from error
            self._made.pop()

    def is_gone(self) -> bool:
        """Remove what is empty of it by now, without waiting; say whether nothing is left."""
        while self._made:
            try:
                os.rmdir(self._made[-1])
            except FileNotFoundError:
                pass
            except OSError:
                return False
            self._made.pop()
        return True


class Hierarchy(ABC):
    """Where groups are made: ``parents`` are the directories, one per mount. Safe to use from several threads."""

    kind: str

    def __init__(self, parents: tuple[str, ...]) -> None:
        self.parents = parents
        self._marks: tuple[claim.Claim, ...] = ()
        self._left: deque[Group] = deque()

    @abstractmethod
    def ensure(self) -> None:
        """Make the parents ready, if they are not. Raises OSError."""

    @abstractmethod
    def group(self, name: str) -> Group:
        """Return the group of that name; nothing is made yet."""

    def claim(self) -> None:
        """Mark what :meth:`fresh` names as ours for as long as we live; no :meth:`sweep` takes it. Raises OSError.

        The mark is an empty group whose folder we hold, in each hierarchy: a service may share one with us and not
        another.
        """
        self._marks = claim.make(self.parents)

    def fresh(self) -> str:
        """Give a name for a group of ours, which tells who has it to nobody but a sweep. Call :meth:`claim` before."""
        if not self._marks:
            raise RuntimeError("nothing is claimed")
        return f"{os.path.basename(self._marks[0].path)}.{claim.fresh_name()}"

    def create(self, name: str, limits: MeterLimits | None = None) -> Meter:
        """Make a group, with limits if they are known; :meth:`fresh` gives a name that a sweep will know.

        Raises SetupError (step ``cgroup mkdir`` or the name of the file refused); then nothing is left behind.
        """
        if not _NAME.fullmatch(name):
            raise SetupError("cgroup mkdir", errno.EINVAL, repr(name))
        self._remove_left()
        group = self.group(name)
        group.left = self._left
        try:
            self._make(group)
            if limits is not None:
                group.limit(limits)
        except BaseException:
            with contextlib.suppress(SetupError):
                group.close()
            raise
        return group

    def _remove_left(self) -> None:
        """Try again what could not be removed when its run was over."""
        for _ in range(len(self._left)):
            with contextlib.suppress(IndexError):  # another thread was faster
                group = self._left.popleft()
                if not group.is_gone():
                    self._left.append(group)

    def _make(self, group: Group) -> None:
        try:
            try:
                group.make()
            except FileNotFoundError:
                # Another instance that stopped may have taken the empty parents with it.
                group.close()
                self.ensure()
                group.make()
        except OSError as error:
            raise SetupError("cgroup mkdir", error.errno or 0, str(error.filename or "")) from error

    def sweep(self) -> tuple[str, ...]:
        """Kill and remove what services have left that are no more; return the names.

        A group that cannot be removed now is left for the next sweep. Names of another form are never touched.
        """
        swept: dict[str, bool] = {}
        for parent in self.parents:
            owners = {match[1]: None for name in _children(parent) if (match := _SWEEPABLE.fullmatch(name))}
            for owner in owners:
                for name, gone in _sweep(parent, owner):
                    swept[name] = gone and swept.get(name, True)
        return tuple(name for name, gone in swept.items() if gone)

    def close(self) -> None:
        """Give up the claim, and remove the parents where they are empty; another service keeps them. Never raises."""
        self._remove_left()
        for mark in self._marks:
            with contextlib.suppress(OSError):
                os.rmdir(mark.path)
            mark.release()
        self._marks = ()
        for parent in self.parents:
            with contextlib.suppress(OSError):
                os.rmdir(parent)


def _sweep(parent: str, owner: str) -> Iterator[tuple[str, bool]]:
    """Kill and remove the groups of an owner in one hierarchy, unless he lives; give names, and what is gone."""
    mark = f"{parent}/{owner}"
    taken = claim.take(mark)
    if taken is None and os.path.isdir(mark):
        return
    for name in _children(parent):
        if name == owner or name.startswith(f"{owner}."):
            try:
                remove(f"{parent}/{name}")
            except OSError:
                yield name, False
            else:
                yield name, True
    if taken is not None:
        taken.release()


def _peak(kernel: int | None, now: int, before: int | None) -> int:
    """Return the kernel's peak, or where it keeps none the highest value that a look has seen."""
    return kernel if kernel is not None else max(now, before or 0)


def _children(directory: str) -> Iterator[str]:
    with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
        yield from [found.name for found in entries if found.is_dir(follow_symlinks=False)]


# --- killing and removing --------------------------------------------------------------------------------------------


def slay(directory: str) -> None:
    """Kill everything in the group, at once with ``cgroup.kill`` (v2, Linux 5.14), else pid by pid, bounded."""
    try:
        write(f"{directory}/cgroup.kill", "1")
    except OSError:
        # Frees nothing, but without it a fork bomb outruns the loop. Only the pids group of v1 has the file.
        with contextlib.suppress(OSError):
            write(f"{directory}/pids.max", "0")
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for pause in _pauses():
        if not _strike(directory) or time.monotonic() > deadline:
            return
        time.sleep(pause)


def remove(directory: str) -> None:
    """Remove the group and those below it, killing what is inside. Gone already is fine. Raises OSError."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for pause in _pauses():
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in {errno.EBUSY, errno.ENOTEMPTY} or time.monotonic() > deadline:
                raise
        else:
            return
        slay(directory)
        for child in _children(directory):
            remove(f"{directory}/{child}")
        time.sleep(pause)


def _strike(directory: str) -> bool:
    """Send SIGKILL once to each process listed; say whether any was.

    A listed pid may die and be handed out again before the signal. So a pidfd is opened first and the list is read
    again: a pidfd whose pid is still listed is either our member or a process already dead, never a stranger.
    """
    held: dict[str, int] = {}
    try:
        listed = _members(directory)
        for pid in listed:
            with contextlib.suppress(OSError, OverflowError):
                held[pid] = os.pidfd_open(int(pid))
        for pid in _members(directory) & held.keys():
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(held[pid], signal.SIGKILL)
        return bool(listed)
    finally:
        for fd in held.values():
            os.close(fd)


def _members(directory: str) -> set[str]:
    try:
        # A process outside our pid namespace is listed as 0.
        return set(words(f"{directory}/cgroup.procs")) - {"0"}
    except OSError:
        return set()


def _pauses() -> Iterator[float]:
    yield from _PAUSES
    while True:
        yield _PAUSES[-1]
