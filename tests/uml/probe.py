"""Say in how many seconds this kernel starts an interpreter and ends it: the median of some. Standard library only."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

_TIMES = 11


def _once() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.stdout.write(f"{statistics.median(_once() for _ in range(_TIMES)):.4f}\n")
