"""How a run's spending is bounded and read: cgroup v1, cgroup v2 and the psutil watch are all a Meter."""

from __future__ import annotations

from dataclasses import dataclass
from io import FileIO
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterLimits:
    """The part of :class:`Limits` that a meter enforces. ``cpus`` only throttles."""

    memory_bytes: int
    processes: int
    cpus: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One look at a meter. Peaks are since the start; ``None`` where this kernel keeps no such number."""

    cpu_seconds: float
    memory_bytes: int
    peak_memory_bytes: int | None
    processes: int
    peak_processes: int | None
    oom_kills: int
    forks_refused: int


class Meter(Protocol):
    """Bounds and measures one run. Made before the job is known, entered by the guest alone, closed after it."""

    kind: str
    """The layer name it stands for: ``cgroup:v1``, ``cgroup:v2`` or ``watch``."""
    has_doors: bool
    """Whether a process enters by itself, through :meth:`doors`; otherwise :meth:`add` puts it there."""
    poll_seconds: float | None
    """How often :meth:`read` must be called for the bound to hold; None where the kernel enforces it by itself."""

    def limit(self, limits: MeterLimits) -> None:
        """Set the bounds, before any guest code runs. Raises SetupError."""

    def doors(self) -> tuple[FileIO, ...]:
        """Give open files, the caller's to close: a process that writes ``0`` to each has entered by itself.

        Empty where a process cannot, and :meth:`add` must be called. Raises SetupError.
        """

    def add(self, pid: int) -> None:
        """Put the process (not yet running guest code) under the meter, from outside. Raises SetupError."""

    def prepare(self) -> None:
        """Open what :meth:`read` reads, for it to be quick. While the guest begins, there is time. Never raises."""

    def read(self) -> Reading:
        """Look. Never raises: a group that is gone reads as its last look."""

    def kill(self) -> None:
        """Send SIGKILL to every process under the meter. Never raises."""

    def close(self) -> None:
        """Give back whatever the meter holds on the host. Safe to call twice. Raises SetupError if it cannot."""
