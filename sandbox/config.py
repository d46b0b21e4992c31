"""What an operator decides about an engine: bounds, languages, fork servers, places. Frozen values; no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sandbox.model import Limits


@dataclass(frozen=True, slots=True)
class Preload:
    """One fork server: its name, and the modules it has imported. Runs see them as not yet imported by themselves."""

    name: str
    imports: tuple[str, ...]


_STANDARD = (
    *("argparse", "array", "ast", "asyncio", "base64", "bisect", "calendar", "collections"),
    *("concurrent.futures", "copy", "csv", "dataclasses", "datetime", "decimal", "enum", "fractions"),
    *("functools", "glob", "hashlib", "heapq", "inspect", "io", "itertools", "json"),
    *("logging", "math", "multiprocessing", "operator", "os", "pathlib", "pickle", "pprint"),
    *("queue", "random", "re", "shutil", "signal", "socket", "sqlite3", "statistics"),
    *("string", "struct", "subprocess", "sys", "tempfile", "textwrap", "threading", "time"),
    *("traceback", "typing", "unicodedata", "uuid", "zoneinfo"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmConfig:
    """The fork servers, smallest first, and how long what their runs share may last."""

    enabled: bool = True
    preloads: tuple[Preload, ...] = (
        Preload("bare", ()),
        Preload("standard", _STANDARD),
        Preload("data", (*_STANDARD, "numpy", "pandas", "matplotlib", "matplotlib.pyplot")),
    )
    depth: int = 4
    """How many children wait in each."""
    runs_per_server: int = 1000
    seconds_per_server: float = 600.0
    idle_seconds: float = 900.0
    """A server that nobody used for so long is let go; the smallest one stays."""
    memory_bytes: int = 2 << 30
    """While all servers and their children hold so much, none but the smallest is started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeConfig:
    """A language that an operator adds: a program on the host, whose ``command`` is followed by the source's path.

    ``read_only`` are the folders beyond ``/usr`` that it needs. Its version is ``version``, or what
    ``version_command`` (else ``command[0] --version``) says. An entry for a language that ships has ``aliases``,
    ``limits`` and ``read_only`` alone.
    """

    name: str
    aliases: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    source_name: str = ""
    read_only: tuple[Path, ...] = ()
    version: str = ""
    version_command: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What an operator decides about an engine. ``None`` means the place that suits the user we run as.

    ``may_lack`` names the layers whose absence this operator accepts: only ``cgroup`` may be named, and then a
    watch and resource limits stand in.
    """

    ceilings: Limits = field(
        default_factory=lambda: Limits(
            wall_seconds=300.0,
            cpu_seconds=600.0,
            memory_bytes=4 << 30,
            processes=512,
            output_bytes=16 << 20,
            disk_bytes=2 << 30,
            inodes=65_536,
            open_files=4096,
            cpus=0.0,
        )
    )
    """The most a job may ask for; ``cpus`` 0 stands for as many as the host has."""
    files_in: int = 256
    files_in_bytes: int = 16 << 20
    files_out: int = 100
    files_out_bytes: int = 16 << 20
    flood_bytes: int = 1 << 30
    """A run that has written this much to stdout and stderr together is ended whatever it asked for."""
    may_lack: frozenset[str] = frozenset()
    warm: WarmConfig = field(default_factory=WarmConfig)
    runtimes: tuple[RuntimeConfig, ...] = ()
    state_dir: Path | None = None
    runtimes_dir: Path | None = None
    bwrap: Path | None = None
    cgroup_parent: str | None = None
    uid_base: int = 2_000_000_000
    """As root, slot n runs its guest under the kernel uid ``uid_base + n``."""
    slots: int = 4096
