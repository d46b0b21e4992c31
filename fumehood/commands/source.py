"""Source text as a command line names it: a file or standard input, and the language it is in."""

from __future__ import annotations

import sys
from pathlib import Path, PurePath

STDIN = "-"
PROGRAMS = {".py": "python", ".pyi": "python", ".pyw": "python", ".sh": "bash", ".bash": "bash", ".go": "go"}
_TEXTS = ".env .yml .yaml .json .toml .ini .cfg .conf .properties .tf .tfvars .xml .config .npmrc .pypirc .netrc"
READABLE = {
    **PROGRAMS,
    ".md": "markdown",
    ".markdown": "markdown",
    ".ipynb": "notebook",
    **dict.fromkeys(_TEXTS.split(" "), "text"),
}
"""What can be analysed, though it may not be run."""


def read_bytes(name: str) -> bytes:
    """What is in the file, or all of standard input for ``-``. Raises OSError."""
    return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()


def read(name: str) -> str:
    """The text of the file as it is, byte order mark and line ends included.

    Raises:
        OSError: it cannot be read.
        JobRefused: it is not UTF-8.
    """
    try:
        return read_bytes(name).decode()
    except UnicodeDecodeError as error:
        from sandbox import JobRefused

        raise JobRefused(name, f"not UTF-8 ({error.reason} at byte {error.start})") from error


def language(name: str, text: str, *, default: str) -> str:
    """The language of a program by the file's suffix, else by its ``#!`` line, else ``default``."""
    suffix = PurePath(name).suffix.lower()
    if name != STDIN and suffix in PROGRAMS:
        return PROGRAMS[suffix]
    if not text.removeprefix("\ufeff").startswith("#!"):
        return default
    from analyzers.detect import interpreter

    return interpreter(text.removeprefix("\ufeff")) or default


def readable(name: str) -> str | None:
    """The language of a file to analyse by its name, or None where that says nothing."""
    path = PurePath(name)
    if path.name.startswith(".env"):
        return "text"
    return READABLE.get(path.suffix.lower() or path.name.lower())
