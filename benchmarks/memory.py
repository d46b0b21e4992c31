"""What one waiting child costs in memory of its own.

A fork server is started twice, with few and with more waiting children. The proportional set sizes (Pss) of all its
processes add up to the pages they hold, each counted once; the difference of the two sums over the difference in
children is what one more child costs: its init and the process that becomes the guest. Page tables, which no Pss
counts, are told beside it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import psutil

import contest
from sandbox import Preload, WarmConfig

FEW = 1
MEGABYTE = 1 << 20
MOST_BYTES = {"bare": 4 * MEGABYTE, "standard": None, "data": 8 * MEGABYTE}


def main() -> None:
    """Measure, and say it."""
    options = contest.arguments(__doc__, children=9)
    many = max(options.children, FEW + 1)
    with contest.engine(options, WarmConfig(enabled=False)) as box:
        contest.say_facts(box, children=[FEW, many])
    for preload in WarmConfig().preloads:
        few, more = (_held(options, preload, depth) for depth in (FEW, many))
        each = {name: (more[name] - few[name]) // (many - FEW) for name in more}
        contest.say(
            {
                "name": f"one waiting child, {preload.name}",
                "pss_mb": round(each["Pss"] / MEGABYTE, 2),
                "page_tables_mb": round(each["VmPTE"] / MEGABYTE, 2),
                "server_alone_pss_mb": round((few["Pss"] - FEW * each["Pss"]) / MEGABYTE, 1),
            }
        )
        most = MOST_BYTES.get(preload.name)
        if most is not None:
            measure = f"private memory of one waiting child, {preload.name}, of {most // MEGABYTE} MB"
            contest.say_at_most(measure, each["Pss"] / most, 1.0)


def _held(options: contest.Options, preload: Preload, depth: int) -> dict[str, int]:
    """Give what all processes of one fork server hold in bytes, by the kernel's names."""
    with contest.engine(options, WarmConfig(preloads=(preload,), depth=depth)) as box:
        contest.until_full(box)
        held = {"Pss": sum(box.warm_memory_bytes().values()), "VmPTE": 0}
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                held["VmPTE"] += _page_table_bytes(process.pid)
        return held


def _page_table_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmPTE:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
