"""The nouns of the engine, one per stage: Job -> Plan -> Child -> Exit -> Result. Frozen values; no behaviour.

Units are in the names: ``_seconds`` are floats, ``_bytes`` are ints. Enumerations are the words of the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol


# --- Job: what was asked ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one run may spend. Each of stdout and stderr keeps ``output_bytes``; ``processes`` counts tasks."""

    wall_seconds: float = 30.0
    cpu_seconds: float = 60.0
    memory_bytes: int = 512 << 20
    processes: int = 64
    output_bytes: int = 100_000
    disk_bytes: int = 256 << 20
    inodes: int = 8192
    open_files: int = 256
    cpus: float = 1.0


class NetworkKind(StrEnum):
    """How much network a run asks for."""

    NONE = "none"
    ALLOWLIST = "allowlist"
    UNRESTRICTED = "unrestricted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network policy asked for; ``hosts`` belongs to ``allowlist`` alone."""

    kind: NetworkKind = NetworkKind.NONE
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file laid into the workspace before the run; ``path`` is relative to it."""

    path: str
    content: bytes


class OutputKeep(StrEnum):
    """Which bytes of an over-long stream are kept: the first ones, or half first and half last."""

    HEAD = "head"
    HEAD_TAIL = "head_tail"


class OnOutputLimit(StrEnum):
    """What an over-long stream does to the run: nothing (drained and counted), or it ends it."""

    TRUNCATE = "truncate"
    KILL = "kill"


class Launcher(StrEnum):
    """How the run's first process comes to be. As a request ``auto`` or ``cold``; as a fact ``cold`` or ``warm``."""

    AUTO = "auto"
    COLD = "cold"
    WARM = "warm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One run as its caller asked for it. ``code`` is text as sent; everything else has the contract's default."""

    code: str
    language: str = "python"
    stdin: bytes = b""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: tuple[InputFile, ...] = ()
    collect: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    output_keep: OutputKeep = OutputKeep.HEAD
    on_output_limit: OnOutputLimit = OnOutputLimit.TRUNCATE
    network: Network = field(default_factory=Network)
    writable_paths: tuple[str, ...] = ("/tmp",)  # noqa: S108 - a path inside the guest, on its private tmpfs
    launcher: Launcher = Launcher.AUTO


# --- Meter: how a run's spending is bounded and read; cgroup v1, cgroup v2 and the psutil watch all are one ----------


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
    """Bounds and measures one run. Made before the guest, entered by the guest alone, closed after it."""

    kind: str
    """The layer name it stands for: ``cgroup:v1``, ``cgroup:v2`` or ``watch``."""
    poll_seconds: float | None
    """How often :meth:`read` must be called for the bound to hold; None where the kernel enforces it by itself."""

    def add(self, pid: int) -> None:
        """Put the process (not yet running guest code) under the meter. Raises SetupError."""

    def read(self) -> Reading:
        """Look. Never raises: a group that is gone reads as its last look."""

    def kill(self) -> None:
        """Send SIGKILL to every process under the meter. Never raises."""

    def close(self) -> None:
        """Give back whatever the meter holds on the host. Safe to call twice. Raises SetupError if it cannot."""
