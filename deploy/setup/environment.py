"""The service's own environment, ``.venv``: hashed packages, and this clone installed so that edits count at once."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import places
from programs import ask, fail, install, run, timed

_WHO = """
import sys
assert sys.version_info >= (3, 11) and sys.prefix == sys.argv[1]
print(sys._base_executable, sys.version)
"""


def prepare(clone: Path, level: str) -> Path:
    """Bring ``.venv`` to ``level`` ("service", or "dev", which holds the service's too) and give its Python."""
    os.umask(0o022)
    venv = clone / ".venv"
    python = venv / "bin/python"
    state = clone / ".state"
    state.mkdir(exist_ok=True)
    with places.locked(state, "setup.lock"):
        identity = _identity(clone, level, _who(venv))
        stamp = venv / f".fumehood-{level}"
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == identity:
            return python
        if _who(venv) is None:
            _make(venv)
        installer = pip(python)
        lock = clone / f"requirements/{level}.txt"
        with timed(f".venv: packages of requirements/{lock.name}"):
            install(installer, "--require-hashes", "-r", lock, why=f"installing requirements/{lock.name}")
        with timed(".venv: fumehood itself"):
            # The back end is among the packages, so building fetches nothing.
            install(installer, "--no-deps", "--no-build-isolation", "--editable", clone, why="installing fumehood")
        # An editable install compiles nothing, and where PYTHONDONTWRITEBYTECODE is set no start ever would.
        ask(python, "-I", "-m", "compileall", "-q", *(clone / name for name in ("sandbox", "analyzers", "fumehood")))
        for name in {"service", level}:
            places.replace_text(venv / f".fumehood-{name}", _identity(clone, name, _who(venv)))
    return python


def pip(python: Path) -> Sequence[str]:
    """Give a pip that works on ``python``: its own, or the system's where there is no ensurepip to make one."""
    if ask(python, "-I", "-m", "pip", "--version") is not None:
        return (os.fspath(python), "-I", "-m", "pip")
    return (sys.executable, "-I", "-m", "pip", "--python", os.fspath(python))


def _who(venv: Path) -> str | None:
    """Name the Python that ``venv`` stands on; None where it is missing, broken, too old or made for another path."""
    return ask(venv / "bin/python", "-I", "-c", _WHO, os.fspath(venv))


def _identity(clone: Path, level: str, who: str | None) -> str:
    """Hash what the environment depends on."""
    digest = hashlib.sha256(f"{clone} {who}".encode())
    for path in (clone / f"requirements/{level}.txt", clone / "pyproject.toml", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _make(venv: Path) -> None:
    """Make the environment anew, on the Python that runs us."""
    if venv.is_dir() and not (venv / "pyvenv.cfg").is_file() and any(venv.iterdir()):
        fail(f"{venv} is in the way: it is no virtual environment.")
    shutil.rmtree(venv, ignore_errors=True)
    with timed(f".venv on Python {sys.version.split()[0]} ({sys.executable})"):
        run(sys.executable, "-I", "-m", "venv", "--without-pip", venv, why="making .venv")
        python = venv / "bin/python"
        if importlib.util.find_spec("ensurepip") and ask(python, "-I", "-m", "ensurepip", "--default-pip") is None:
            fail("pip cannot be put into .venv: `python3 -m ensurepip` fails here.")
