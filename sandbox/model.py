"""The nouns of the engine, one per stage: Job -> Plan -> Child -> Exit -> Result. Frozen values; no behaviour.

Units are in the names: ``_seconds`` are floats, ``_bytes`` are ints. Enumerations are the words of the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from io import FileIO
from socket import socket
from typing import Any, TypedDict

from sandbox.guest.wire import Reader
from sandbox.meter import Meter, MeterLimits, Reading

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


# --- Host: what this machine can enforce -----------------------------------------------------------------------------


class RuntimeKind(StrEnum):
    """How the guest's program starts: inside the interpreter that init runs on, or by exec of another one."""

    PYTHON = "python"
    EXEC = "exec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """One language a guest may be written in.

    ``command`` is the program inside the guest and its leading arguments; the path of the source follows it.
    ``version`` is for people, such as ``python 3.11.2``.
    """

    name: str
    aliases: tuple[str, ...]
    kind: RuntimeKind
    command: tuple[str, ...]
    source_name: str
    version: str
    packages: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    links: tuple[tuple[str, str], ...] = ()
    """(path, text) of symbolic links laid into the writable places before the guest starts."""
    limits: Limits = field(default_factory=Limits)
    """What a run has whose caller asks for no limits. Applied by whoever takes requests, not by the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A host folder shown read-only inside; both paths are ours, never a caller's."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What was found when the engine started. Pure data: nothing here is open or running.

    ``runtimes`` by canonical name. ``binds`` and ``links`` are what bwrap shows; ``guest_binds`` and ``guest_links``
    what init passes on into the guest's root (sources in bwrap's root). ``init`` is the argv of a cold run's first
    process, ``zygote`` of a fork server's.
    """

    machine: str
    cpu_numbers: tuple[int, ...]
    as_root: bool
    bwrap: str
    bwrap_version: str
    bwrap_origin: str
    meter_kind: str
    meter_reason: str
    runtimes: Mapping[str, Runtime]
    init: tuple[str, ...]
    zygote: tuple[str, ...]
    binds: tuple[Bind, ...]
    links: tuple[tuple[str, str], ...]
    guest_binds: tuple[Bind, ...]
    guest_links: tuple[tuple[str, str], ...]


class ForkServerState(TypedDict):
    """What a fork server tells of itself: whether it is up, and if not why; how many children wait in it.

    ``settled`` is False only while it comes up for the first time, when nobody knows yet whether it will. ``pid`` is
    that of the bwrap it lives in, None while it is down; ``started`` counts the servers there have been so far,
    ``failures`` those that could not be had, ended by themselves, or failed a run before its guest went.
    """

    name: str
    up: bool
    settled: bool
    waiting: int
    reason: str
    pid: int | None
    started: int
    failures: int


# --- Plan: every decision made ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class WritablePlace:
    """One folder of the run's quota'd tmpfs, and the absolute paths it appears at."""

    mode: int
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A job on this host, with nothing left to decide: what init is told, and what supervise enforces."""

    runtime: Runtime
    launcher: Launcher
    """What the job allows: ``auto`` or ``cold``."""
    cpus: int
    """How many processors the guest's libraries are told to use."""
    own_env: frozenset[str]
    """Names of the variables that are the job's own."""
    code: bytes
    stdin: bytes
    args: tuple[str, ...]
    env: Mapping[str, str]
    files: tuple[InputFile, ...]
    collect: tuple[str, ...]
    files_out: int
    files_out_bytes: int
    writable: tuple[WritablePlace, ...]
    limits: Limits
    meter_limits: MeterLimits
    cpu_rate: float
    """The most CPU seconds the run can spend in one second."""
    rlimits: tuple[tuple[int, int], ...]
    affinity: tuple[int, ...] | None
    output_keep: OutputKeep
    on_output_limit: OnOutputLimit
    flood_bytes: int
    layers: tuple[str, ...]
    """What must hold for this run, each of them or there is no run."""


# --- Child: alive ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A guest under way, confined and metered. The descriptors are the host's ends."""

    control: socket
    messages: Reader
    said: tuple[Any, ...]
    """What init has said already: a short run may be over by now."""
    guest: int
    """pidfd of the guest's main process."""
    stdin: FileIO
    stdout: FileIO
    stderr: FileIO
    started: float
    """When the guest went, by CLOCK_MONOTONIC."""
    meter: Meter
    layers: tuple[str, ...]
    launcher: Launcher


# --- Exit: raw facts of a run that is over ---------------------------------------------------------------------------


class Cause(StrEnum):
    """Why supervise ended a run before it ended by itself."""

    WALL = "wall"
    CPU = "cpu"
    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """What was kept of one output stream: ``head``, then a gap if ``head`` and ``tail`` are not all of it."""

    head: bytes
    tail: bytes
    total_bytes: int

    @property
    def truncated(self) -> bool:
        """Whether bytes were dropped."""
        return self.total_bytes > len(self.head) + len(self.tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """A file taken from the workspace after the run."""

    path: str
    content: bytes
    sha256: str


class SkipReason(StrEnum):
    """Why a file that matched ``collect`` was not returned."""

    SYMLINK = "symlink"
    SPECIAL = "special"
    UNREADABLE = "unreadable"
    NAME = "name"
    TOO_LARGE = "too_large"
    TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A match of ``collect`` that stayed behind; bytes of its name that are not UTF-8 read as U+FFFD."""

    path: str
    reason: SkipReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """Everything observed about one run, judged by nobody yet. ``wait_status`` is None when init could not say."""

    wait_status: int | None
    cause: Cause | None
    also_due: frozenset[Cause]
    started: float
    """When the guest went, by CLOCK_MONOTONIC."""
    wall_seconds: float
    stdout: Stream
    stderr: Stream
    reading: Reading
    max_rss_bytes: int
    disk_full: bool
    files: tuple[OutputFile, ...]
    files_skipped: tuple[SkippedFile, ...]
    layers: tuple[str, ...]
    launcher: Launcher


# --- Result: the verdict ---------------------------------------------------------------------------------------------


class Status(StrEnum):
    """How a run ended. ``blocked`` is said by the service, never by the engine."""

    OK = "ok"
    ERROR = "error"
    SIGNALED = "signaled"
    TIMEOUT = "timeout"
    CPU_LIMIT = "cpu_limit"
    MEMORY_LIMIT = "memory_limit"
    PROCESS_LIMIT = "process_limit"
    DISK_LIMIT = "disk_limit"
    OUTPUT_LIMIT = "output_limit"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run spent, from the moment its guest could run. ``queue_seconds`` is filled by whoever queued it.

    ``spawn_seconds`` is what came before that moment: from the call of the engine until the guest could run.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    peak_processes: int
    queue_seconds: float = 0.0
    spawn_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The verdict on one run, and what it left. ``limits_hit`` speaks the words of :class:`Cause` and ``disk``."""

    status: Status
    exit_code: int | None
    signal: str | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    stdout_truncated: bool
    stderr_truncated: bool
    files: tuple[OutputFile, ...]
    files_skipped: tuple[SkippedFile, ...]
    usage: Usage
    limits_hit: tuple[str, ...]
    launcher: Launcher
    runtime: str
    layers: tuple[str, ...]
