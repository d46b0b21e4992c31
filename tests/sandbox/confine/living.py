"""Processes to put into groups, and names and bounds for these."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

from sandbox.meter import MeterLimits

MIB = 1 << 20
PLENTY = MeterLimits(memory_bytes=256 * MIB, processes=32, cpus=64.0)

_serials = itertools.count()


class Child:
    """A Python process that waits for a line before it runs its code, as a guest waits for its go."""

    def __init__(self, code: str) -> None:
        argv = [sys.executable, "-I", "-S", "-c", f"input()\n{code}"]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid

    def go(self) -> None:
        """Let it run."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """Wait for its next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> int:
        """Wait for its end; negative is the signal that ended it."""
        return self.process.wait(timeout=20)


def fresh_name() -> str:
    """Return a name that no test has used, and no sweep knows."""
    return f"test-{os.getpid()}.{next(_serials)}"
