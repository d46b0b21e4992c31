"""Running other programs during set-up: never with a foreign Python's environment, one sentence where one fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

_FOREIGN = (
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "VIRTUAL_ENV",
    "__PYVENV_LAUNCHER__",
    # These say where pip should install; here, only the environment being built may.
    "PIP_PREFIX",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_ROOT",
    "PIP_TARGET",
    "PIP_USER",
)


def fail(sentence: str) -> NoReturn:
    """End set-up, saying why in one sentence."""
    sys.exit(f"fumehood: {sentence}")


def environment(**changes: str) -> dict[str, str]:
    """Give our environment without what belongs to another Python; pip's addresses, proxies and certificates stay."""
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return kept | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONNOUSERSITE": "1"} | changes


def run(*argv: str | os.PathLike[str], why: str, **changes: str) -> None:
    """Run ``argv``; should it fail, its output is already on the screen and ``why`` says what was being done."""
    words = [os.fspath(word) for word in argv]
    if (code := subprocess.run(words, env=environment(**changes), check=False).returncode) != 0:
        fail(f"{why} failed: {Path(words[0]).name} ended with {code}, see its words above.")


def ask(*argv: str | os.PathLike[str], **changes: str) -> str | None:
    """Give what ``argv`` prints, or None where it cannot be run or fails."""
    words = [os.fspath(word) for word in argv]
    try:
        done = subprocess.run(words, env=environment(**changes), check=False, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def install(pip: Sequence[str], *arguments: str | os.PathLike[str], why: str) -> None:
    """Let ``pip`` install wheels; source packages would want a compiler and run code of theirs here."""
    run(*pip, "install", "--quiet", "--no-input", "--only-binary", ":all:", *arguments, why=why)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say what begins, and how long it took."""
    print(f"  {what} …", flush=True)
    start = time.monotonic()
    yield
    print(f"  {what}: {time.monotonic() - start:.0f} s", flush=True)
