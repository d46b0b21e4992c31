"""A Meter made of looking: the stand-in where no cgroup can be written.

It samples the run's process tree with psutil, so it sees late (``poll_seconds``), misses what lives and dies between
two looks without being waited for, and does not throttle: ``MeterLimits.cpus`` is not enforced. Per-process bounds
come from :mod:`sandbox.confine.rlimit`; the supervisor reads the numbers and decides to kill. Of the memory that no
process has mapped it sees what TCP and UDP sockets hold, and not what is in files on a tmpfs, pipes and unix sockets.

Source for the numbers: Documentation/filesystems/proc.rst of Linux 6.18 (stat, statm, status, smaps_rollup).
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

from sandbox.errors import SetupError
from sandbox.meter import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    from sandbox.meter import MeterLimits

_KILL_ROUNDS = 25
_QUIET_ROUNDS = 3
_KILL_PAUSE_SECONDS = 0.002
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_FEW_SOCKETS = 4
_DEAD = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


class _Look(NamedTuple):
    """One process at one moment; ``reaped_seconds`` is what its children had spent when it waited for them."""

    own_seconds: float
    reaped_seconds: float
    rss_bytes: int
    tasks: int


class Watch:
    """Measures the descendants of one process.

    The root is the init of the run's pid namespace: whatever double-forks there is handed to it, so all of the run
    descends from it. It is not counted, nor is it killed as long as the rest can be killed without it. ``root_pid``
    names it; without, :meth:`add` takes the parent of the added process if that is pid 1 of a pid namespace below
    ours, and otherwise the added process itself, which is then counted.
    """

    kind: str = "watch"
    has_doors: bool = False
    poll_seconds: float | None = 0.05

    def __init__(self, limits: MeterLimits | None = None, *, root_pid: int | None = None) -> None:
        self._memory_bytes = limits.memory_bytes if limits else 0
        self._root_pid = root_pid
        self._lock = threading.Lock()
        self._roots: list[psutil.Process] = []
        self._inits: set[psutil.Process] = set()
        self._last_looks: dict[psutil.Process, _Look] = {}
        self._before_seconds = 0.0
        self._owed_seconds = 0.0
        self._last = Reading(
            cpu_seconds=0.0,
            memory_bytes=0,
            peak_memory_bytes=0,
            processes=0,
            peak_processes=0,
            oom_kills=0,
            forks_refused=0,
        )

    def limit(self, limits: MeterLimits) -> None:
        """Know the bound on memory, near which it looks closer; the bounds are the supervisor's to enforce."""
        self._memory_bytes = limits.memory_bytes

    def doors(self) -> tuple[FileIO, ...]:
        """Give nothing: there is nowhere to enter, a process can only be watched from outside."""
        return ()

    def prepare(self) -> None:
        """Do nothing: what is read has a place for each process, and those come and go."""

    def add(self, pid: int) -> None:
        """Watch the process and all that comes from it. What it has spent before does not count. Raises SetupError."""
        try:
            process = psutil.Process(pid)
            init = self._init_of(process)
            looks = {process: _look(process)}
            if init:
                looks[init] = _uncounted(_look(init))
        except psutil.Error as error:
            raise SetupError("watch add", errno.ESRCH, f"pid {pid}") from error
        with self._lock:
            self._roots.append(init or process)
            self._inits |= {init} if init else set()
            self._last_looks |= looks
            self._before_seconds += sum(look.own_seconds + look.reaped_seconds for look in looks.values())

    def read(self) -> Reading:
        """Look. Never raises: a tree that is gone reads as its last look, its memory and tasks as none.

        ``memory_bytes`` is the sum of resident sets, which counts pages shared after a fork once for each process;
        that errs upwards and costs little. Only where that sum exceeds the bound are the proportional sets (PSS)
        summed instead, so that nothing is killed for sharing: reading those walks the page tables.
        """
        with self._lock:
            looks = self._looks()
            self._settle(looks)
            in_sockets = next((_socket_bytes(process.pid) for process in looks if process.is_running()), 0)
            memory_bytes = in_sockets + sum(look.rss_bytes for look in looks.values())
            if memory_bytes > self._memory_bytes:
                memory_bytes = in_sockets + sum(_pss_bytes(process, look.rss_bytes) for process, look in looks.items())
            tasks = sum(look.tasks for look in looks.values())
            spent = sum(look.own_seconds + look.reaped_seconds for look in looks.values())
            last = self._last
            self._last = Reading(
                cpu_seconds=max(last.cpu_seconds, spent + self._owed_seconds - self._before_seconds),
                memory_bytes=memory_bytes,
                peak_memory_bytes=max(last.peak_memory_bytes or 0, memory_bytes),
                processes=tasks,
                peak_processes=max(last.peak_processes or 0, tasks),
                oom_kills=0,
                forks_refused=0,
            )
            return self._last

    def kill(self) -> None:
        """Send SIGKILL to every process of the tree until none is left, in a bounded number of rounds. Never raises.

        A tree that forks faster than it can be listed is ended with its init: the kernel then kills the whole pid
        namespace at once.
        """
        struck: set[psutil.Process] = set()
        restless = False
        quiet_rounds = 0
        for _round in range(_KILL_ROUNDS):
            living = {process for process in self._members() if process not in self._inits and _living(process)}
            restless = bool(living - struck) or not all(_settled(init, struck) for init in self._inits)
            # One quiet look proves little: /proc is not listed in one go, and a process can slip through.
            quiet_rounds = 0 if living or restless else quiet_rounds + 1
            if quiet_rounds == _QUIET_ROUNDS:
                return
            for process in living - struck:
                _kill(process)
            struck |= living
            time.sleep(_KILL_PAUSE_SECONDS)
        # Who has been struck can fork no more and is only slow to go: for that alone the init's report is not lost.
        if restless:
            for init in self._inits:
                _kill(init)

    def close(self) -> None:
        """Kill what is left; nothing is held on the host. Safe to call twice. Raises nothing."""
        self.kill()

    def _init_of(self, process: psutil.Process) -> psutil.Process | None:
        if self._root_pid is not None:
            return psutil.Process(self._root_pid)
        parent = process.parent()
        return parent if parent is not None and _is_namespace_init(parent.pid) else None

    def _members(self) -> Iterator[psutil.Process]:
        """Give the inits and the tree, each once and parents first."""
        met: set[psutil.Process] = set()
        # Where there is no init, the children of a root that has ended are found through what was seen before.
        for root in (*self._roots, *list(self._last_looks)):
            if root in met or not root.is_running():
                continue
            with contextlib.suppress(psutil.Error):
                for process in (root, *root.children(recursive=True)):
                    if process not in met and process.is_running():
                        met.add(process)
                        yield process

    def _looks(self) -> dict[psutil.Process, _Look]:
        """Look at everyone, parents first: a child that is seen has then not been added to its parent's account."""
        looks = {}
        for process in self._members():
            with contextlib.suppress(psutil.Error):
                look = _look(process)
                looks[process] = _uncounted(look) if process in self._inits else look
        return looks

    def _settle(self, looks: dict[psutil.Process, _Look]) -> None:
        """Carry over what the vanished had spent, unless a parent that waited for them has it on its account.

        Who ignores SIGCHLD never gets its children's time; then it stays owed.
        """
        gone = [look for process, look in self._last_looks.items() if process not in looks]
        vanished = sum(look.own_seconds + look.reaped_seconds for look in gone)
        inherited = sum(
            look.reaped_seconds - (self._last_looks[process].reaped_seconds if process in self._last_looks else 0.0)
            for process, look in looks.items()
        )
        self._owed_seconds = max(0.0, self._owed_seconds + vanished - inherited)
        self._last_looks = looks


def _look(process: psutil.Process) -> _Look:
    with process.oneshot():
        times = process.cpu_times()
        return _Look(
            own_seconds=times.user + times.system,
            reaped_seconds=times.children_user + times.children_system,
            rss_bytes=process.memory_info().rss or _rss_bytes_of_threads(process.pid),
            tasks=process.num_threads(),
        )


def _rss_bytes_of_threads(pid: int) -> int:
    """Return the resident set of a process whose main thread has ended: only its other threads still tell of it."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                pages = int((task / "statm").read_text().split()[1])
                if pages:
                    return pages * _PAGE_BYTES
    return 0


def _socket_bytes(pid: int) -> int:
    """Return what waits in the TCP and UDP sockets of the process's network namespace, in either direction.

    Going through the tables costs milliseconds on a machine with much memory, counting the sockets does not: what a
    few of them hold is left out.
    """
    net = Path(f"/proc/{pid}/net")
    held = 0
    with contextlib.suppress(OSError, ValueError):
        counts = [
            int(line.split()[2])
            for name in ("sockstat", "sockstat6")
            for line in (net / name).read_text().splitlines()
            if line.startswith(("TCP", "UDP:", "UDP6:"))
        ]
        if sum(counts) <= _FEW_SOCKETS:
            return 0
        for name in ("tcp", "tcp6", "udp", "udp6"):
            for line in (net / name).read_text().splitlines()[1:]:
                sent, _, received = line.split()[4].partition(":")
                held += int(sent, 16) + int(received, 16)
    return held


def _uncounted(look: _Look) -> _Look:
    """Keep of the init only what it has waited for: itself it is ours and not the guest's."""
    return _Look(own_seconds=0.0, reaped_seconds=look.reaped_seconds, rss_bytes=0, tasks=0)


def _pss_bytes(process: psutil.Process, rss_bytes: int) -> int:
    """Return the proportional set size; where it cannot be read (a guest may forbid it) the resident one."""
    if not rss_bytes:
        return 0
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text(errors="replace").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return rss_bytes


def _is_namespace_init(pid: int) -> bool:
    """Say whether the process is pid 1 of a pid namespace below ours; NSpid lists its pid in each, ours first."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith("NSpid:"):
                _ours, *below = line.split()[1:]
                return bool(below) and below[-1] == "1"
    return False


def _living(process: psutil.Process) -> bool:
    """Say whether any of its threads runs; the main one may have ended before the others, and then looks dead."""
    with contextlib.suppress(psutil.Error):
        return process.status() not in _DEAD or process.num_threads() > 1
    return False


def _settled(init: psutil.Process, struck: set[psutil.Process]) -> bool:
    """Say whether nothing below the init can still fork.

    Whatever descends from it, some direct child of it does, and the kernel's list of those
    (``/proc/<pid>/task/<tid>/children``) is quick enough to catch what a walk over all of ``/proc`` misses.
    """
    pids: list[int] = []
    try:
        for task in Path(f"/proc/{init.pid}/task").iterdir():
            pids += map(int, (task / "children").read_text().split())
    except FileNotFoundError:
        return not init.is_running() or not init.children()
    except OSError:
        return not init.is_running()
    try:
        # A dead child that the init has not waited for may hide a living one behind it in this list.
        return all(psutil.Process(pid) in struck for pid in pids)
    except psutil.Error:
        return False


def _kill(process: psutil.Process) -> None:
    """Kill exactly this process: the pidfd is opened first, then the start time says that it is still the same."""
    with contextlib.suppress(OSError, psutil.Error):
        fd = os.pidfd_open(process.pid)
        try:
            if process.is_running():
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        finally:
            os.close(fd)
