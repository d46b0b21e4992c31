"""Where the analyser's workers live in the service: behind the same walls as the code that they read.

The analyser knows pipes alone, and the engine knows programs alone; what stands between them is here: which of the
installed packages a worker is shown, and that it is told nothing before its walls are confirmed.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import logging
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from analyzers import isolate
from sandbox import SandboxError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

    from sandbox import Enclosed, Runtime

_log = logging.getLogger(__name__)
_INSIDE = "/run/analyser"
_PROGRAMS = f"{_INSIDE}/bin"
_PACKAGES = (
    *("analyzers", "tree_sitter", "tree_sitter_bash", "tree_sitter_go", "libcst", "yaml", "_yaml"),
    *("bandit", "stevedore", "rich", "pygments", "markdown_it", "mdurl", "typing_extensions"),
)
"""What the analyser imports beyond the standard library, and what that does in turn. Some are engines' alone."""
_NAMED = ("bandit",)
"""Those that look for what is known of their own installation."""
_ENGINES = ("shellcheck",)
"""Programs that it starts."""
_ACCEPT = "analysis_enclosed = false accepts that it reads outside the walls"
_PROCESSES = 16
_ABOVE_BYTES = 256 << 20
"""The walls' bound on memory lies so much above the worker's own, which lets it still say what was too much."""


class Box(Protocol):
    """What is needed of :class:`sandbox.Sandbox`."""

    @property
    def runtimes(self) -> Mapping[str, Runtime]:
        """The languages, by canonical name."""

    def enclose(
        self, words: Sequence[str], shown: Mapping[str, Path], *, memory_bytes: int, processes: int, path: str
    ) -> Enclosed:
        """Start the guests' Python behind the walls of a run."""


def pool(box: Box, size: int, seconds: float, *, enclosed: bool = True) -> isolate.Pool:
    """A pool whose workers are enclosed by the engine. Raises SandboxError where none can be had here.

    One is started at once: what cannot be had is told before anybody relies on it. Who accepts workers with no walls
    but their own limits asks for them by name.
    """
    if not enclosed:
        return isolate.Pool(size, seconds=seconds)
    _check_runtime(box.runtimes["python"])
    shown = _shown()

    def start(memory_bytes: int) -> isolate.Process:
        _, *words = isolate.command("", [_INSIDE], memory_bytes, keep=True)
        try:
            enclosed = box.enclose(
                words, shown, memory_bytes=memory_bytes + _ABOVE_BYTES, processes=_PROCESSES, path=_PROGRAMS
            )
        except SandboxError as error:
            _log.exception("no analyser could be started")
            raise OSError(0, str(error)) from error
        return _Reader(enclosed)

    made = isolate.Pool(size, seconds=seconds, start=start)
    try:
        made.warm()
    except OSError as error:
        made.close()
        msg = f"the analyser cannot be enclosed: {error.strerror or error}; {_ACCEPT}"
        raise UnenclosableError(msg) from error
    return made


class UnenclosableError(SandboxError):
    """No worker can be had behind the walls."""


class _Reader:
    """An enclosed worker, in the pool's words."""

    def __init__(self, enclosed: Enclosed) -> None:
        self._enclosed = enclosed
        self.stdin: IO[bytes] | None = enclosed.stdin
        self.stdout: IO[bytes] | None = enclosed.stdout
        self.pid = enclosed.pid

    def poll(self) -> int | None:
        return self._enclosed.poll()

    def kill(self) -> None:
        self._enclosed.kill()

    def wait(self) -> int:
        return self._enclosed.wait()

    def confirm(self) -> None:
        try:
            self._enclosed.confirm()
        except SandboxError as error:
            _log.exception("an analyser's walls did not hold")
            raise OSError(0, str(error)) from error


def _check_runtime(python: Runtime) -> None:
    """The worker runs on the guests' interpreter, and some packages are compiled for ours."""
    ours = ".".join(map(str, sys.version_info[:2]))
    theirs = ".".join(python.version.removeprefix("python ").split(".")[:2])
    if ours != theirs:
        msg = f"the analyser cannot be enclosed: the service runs on Python {ours}, guests on {theirs}; {_ACCEPT}"
        raise UnenclosableError(msg)


def _shown() -> dict[str, Path]:
    """Place inside -> where it lies here, for each package and program that is installed."""
    shown = {}
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            place = Path(spec.origin)
            place = place.parent if place.name == "__init__.py" else place
            shown[f"{_INSIDE}/{place.name}"] = place
    for name in _NAMED:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            files = importlib.metadata.distribution(name).files or ()
            kept = {Path(file.locate()).parent for file in files if file.name == "METADATA"}
            shown |= {f"{_INSIDE}/{place.name}": place for place in kept}
    for name in _ENGINES:
        beside = Path(sys.executable).with_name(name)
        found = str(beside) if beside.is_file() else shutil.which(name)
        if found is not None:
            shown[f"{_PROGRAMS}/{name}"] = Path(found).resolve()
    return shown
