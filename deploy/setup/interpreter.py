"""The interpreter a guest runtime stands on: one that an unprivileged uid can read, and at a path it can see."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from programs import ask, fail

_FIT = """
import ctypes, json, os, platform, sqlite3, ssl, sys, zlib
assert sys.version_info >= (3, 11)
maps = [line.split(maxsplit=5)[5].strip() for line in open("/proc/self/maps") if "/" in line]
print(json.dumps({
    "path": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "prefix": sys.base_prefix,
    "version": platform.python_version(),
    "implementation": sys.implementation.name,
    "maps": sorted({path for path in maps if path.startswith("/") and ".so" in path}),
}))
"""
_NAMES = ("python3", "python3.13", "python3.12", "python3.11", "python3.14")
_SYSTEM = tuple(f"{folder}/{name}" for folder in ("/usr/bin", "/usr/local/bin") for name in _NAMES)
_LEFT_OUT = ("__pycache__", "*-packages", "EXTERNALLY-MANAGED", "test", "tests", "idlelib", "ensurepip", "config-3.*")
_MEND = "install the Debian packages python3 and python3-venv, and set-up will use theirs."


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python as it describes itself; ``maps`` are the shared objects it has loaded."""

    path: Path
    prefix: Path
    version: str
    implementation: str
    maps: tuple[str, ...]

    @property
    def library(self) -> str:
        """Name the folder of its library, such as ``python3.11``."""
        return "python" + ".".join(self.version.split(".")[:2])

    @property
    def in_sight(self) -> bool:
        """Tell whether guests see it where it is: they see /usr, and nothing else of the system."""
        return self.path.is_relative_to("/usr") and self.prefix.is_relative_to("/usr") and _readable(self.path)


def describe(path: Path) -> Interpreter | None:
    """Ask the interpreter at ``path`` about itself; None where it is too old, not whole or not there."""
    if (answer := ask(path, "-I", "-c", _FIT)) is None:
        return None
    said = json.loads(answer)
    return Interpreter(
        Path(said["path"]), Path(said["prefix"]), said["version"], said["implementation"], tuple(said["maps"])
    )


def choose(named: Path | None = None) -> Interpreter:
    """Prefer the system's, for guests see /usr; otherwise the one we run on, which is then copied."""
    for path in [named] if named else [*map(Path, _SYSTEM), Path(sys.executable)]:
        if (found := describe(path)) and (named or found.in_sight or path == Path(sys.executable)):
            return found
    return fail(f"no Python 3.11 or newer with ctypes, sqlite3 and ssl was found for guests; {_MEND}")


def copy(source: Interpreter, target: Path) -> None:
    """Copy what runs of ``source`` to ``target``, where it finds its library by itself, and prove that."""
    executable = target / "bin" / source.library
    shutil.copy2(source.path, executable)
    shutil.copytree(
        source.prefix / "lib" / source.library,
        target / "lib" / source.library,
        symlinks=True,
        ignore=shutil.ignore_patterns(*_LEFT_OUT),
        dirs_exist_ok=True,
    )
    for shared in (source.prefix / "lib").glob("*.so*"):
        shutil.copy2(shared, target / "lib" / shared.name, follow_symlinks=False)
    _look_beside(executable, source.prefix / "lib")
    made = describe(executable)
    if made is None or made.prefix != target:
        fail(f"the Python at {source.path} does not run once copied for guests; {_MEND}")
    for path in made.maps:
        if not Path(os.path.realpath(path)).is_relative_to("/usr") and not Path(path).is_relative_to(target):
            fail(f"the Python at {source.path} needs {path}, which guests cannot see; {_MEND}")


def _look_beside(executable: Path, library: Path) -> None:
    """Let a copy built with a shared libpython find the copied one: put ``$ORIGIN`` in its search path's place."""
    old, new = os.fsencode(library) + b"\0", b"$ORIGIN/../lib\0"
    if len(new) <= len(old):
        executable.write_bytes(executable.read_bytes().replace(b"\0" + old, b"\0" + new.ljust(len(old), b"\0")))


def _readable(path: Path) -> bool:
    """Tell whether any user may run ``path``."""
    above = all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)
    return above and path.stat().st_mode & 0o5 == 0o5  # noqa: PLR2004 - r-x for others
