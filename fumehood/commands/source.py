"""Source text as a command line names it: a file or standard input, and the language it is in."""

from __future__ import annotations

import os
import sys

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
    if name == STDIN:
        return sys.stdin.buffer.read()
    with open(name, "rb") as stream:
        return stream.read()


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
    suffix = _suffix(name)
    if name != STDIN and suffix in PROGRAMS:
        return PROGRAMS[suffix]
    if not text.removeprefix("\ufeff").startswith("#!"):
        return default
    from analyzers.detect import interpreter

    return interpreter(text.removeprefix("\ufeff")) or default


def readable(name: str) -> str | None:
    """The language of a file to analyse by its name, or None where that says nothing."""
    last = os.path.basename(name)
    if last.startswith(".env"):
        return "text"
    return READABLE.get(_suffix(last) or last.lower())


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()
