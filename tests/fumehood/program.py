"""``fumehood serve`` as a program, on a free port."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2

ROOT = Path(__file__).resolve().parents[2]
FUMEHOOD = [sys.executable, "-m", "fumehood"]


def environment(**settings: str) -> dict[str, str]:
    """Give our environment without settings but these."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FUMEHOOD_")}
    return inherited | {f"FUMEHOOD_{name.upper()}": value for name, value in settings.items()}


@dataclass
class Program:
    """A running ``fumehood serve``."""

    process: subprocess.Popen[str]
    greeting: str
    address: str
    client: httpx2.Client

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal and give the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=30)


@contextlib.contextmanager
def program(state: Path, **settings: str) -> Iterator[Program]:
    """Start the service on a free port with a state folder of its own."""
    with subprocess.Popen(
        [*FUMEHOOD, "serve", "--port", "0"],
        cwd=ROOT,
        env=environment(**{"state_dir": str(state), "data_dir": str(state / "data"), **settings}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # Read away what it logs, or a full pipe would stop it.
        log = threading.Thread(target=process.stderr.read)
        log.start()
        try:
            lines: list[str] = []
            while not (lines and lines[-1].startswith("Try:")):
                line = process.stdout.readline()
                assert line, f"it ended with {process.wait()} after {lines}"
                lines.append(line)
            address = re.search(r"http://\S+", lines[0])
            assert address is not None
            with httpx2.Client(base_url=address[0], timeout=60) as client:
                yield Program(process, "".join(lines), address[0], client)
        finally:
            if process.poll() is None:
                process.kill()
            log.join()
