"""A plan and a reading to vary, for tests of what takes them."""

from __future__ import annotations

from typing import Any

from sandbox.meter import MeterLimits, Reading
from sandbox.model import Host, Launcher, Limits, OnOutputLimit, OutputKeep, Plan, Runtime, RuntimeKind

PYTHON = Runtime(
    name="python",
    aliases=("python3", "py"),
    kind=RuntimeKind.PYTHON,
    command=(),
    source_name="main.py",
    version="python 3.11.2",
)
BASH = Runtime(
    name="bash",
    aliases=("sh",),
    kind=RuntimeKind.EXEC,
    command=("/usr/bin/bash",),
    source_name="main.sh",
    version="bash 5.2",
)
HOST = Host(
    machine="x86_64",
    cpu_numbers=(0, 1, 2, 3),
    as_root=True,
    bwrap="/usr/bin/bwrap",
    bwrap_version="0.8.0",
    bwrap_origin="system",
    meter_kind="cgroup:v2",
    meter_reason="",
    runtimes={"python": PYTHON, "bash": BASH},
    init=("/opt/python/bin/python3", "-c", "init"),
    zygote=("/opt/python/bin/python3", "-c", "zygote"),
    binds=(),
    links=(),
    guest_binds=(),
    guest_links=(),
)
PLAN = Plan(
    runtime=PYTHON,
    launcher=Launcher.AUTO,
    cpus=1,
    own_env=frozenset(),
    code=b"",
    stdin=b"",
    args=(),
    env={},
    files=(),
    collect=(),
    files_out=3,
    files_out_bytes=1000,
    writable=(),
    limits=Limits(),
    meter_limits=MeterLimits(memory_bytes=512 << 20, processes=64, cpus=1.0),
    cpu_rate=1.0,
    rlimits=(),
    affinity=None,
    output_keep=OutputKeep.HEAD,
    on_output_limit=OnOutputLimit.TRUNCATE,
    flood_bytes=1 << 30,
    layers=(),
)


def reading(**changed: Any) -> Reading:
    """Give a meter's look that saw nothing, but for what is named."""
    values = {
        "cpu_seconds": 0.0,
        "memory_bytes": 0,
        "peak_memory_bytes": None,
        "processes": 0,
        "peak_processes": None,
        "oom_kills": 0,
        "forks_refused": 0,
    }
    return Reading(**{**values, **changed})
