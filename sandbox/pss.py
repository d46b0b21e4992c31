"""What processes hold in memory, pages that several share counted once."""

from __future__ import annotations

import contextlib
import re

import psutil

_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


def pss_bytes(pid: int) -> int:
    """Give the sum of the proportional set sizes of a process and all below it (proc_pid_smaps(5)).

    What is gone meanwhile, or may not be looked at, counts nothing.
    """
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(OSError), open(f"/proc/{each.pid}/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123 - what procfs has
                found = _PSS.search(file.read())
                total += int(found[1]) * 1024 if found else 0
    return total
