"""Source text as a command line names it: a file or standard input, and the language it is in."""

from __future__ import annotations

import sys
from pathlib import Path, PurePath

from sandbox import JobRefused

STDIN = "-"
SUFFIXES = {".py": "python", ".pyi": "python", ".pyw": "python", ".sh": "bash", ".bash": "bash", ".go": "go"}
_INTERPRETERS = {"python": "python", "pypy": "python", "bash": "bash", "sh": "bash"}


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
        raise JobRefused(name, f"not UTF-8 ({error.reason} at byte {error.start})") from error


def language(name: str, text: str, *, default: str) -> str:
    """The language by the file's suffix, else by its ``#!`` line, else ``default``."""
    suffix = PurePath(name).suffix.lower()
    if name != STDIN and suffix in SUFFIXES:
        return SUFFIXES[suffix]
    first_line = text.removeprefix("\ufeff").partition("\n")[0]
    if not first_line.startswith("#!"):
        return default
    # Options and assignments may stand between env and the program it starts.
    words = [PurePath(word).name for word in first_line[2:].split() if word[0] != "-" and "=" not in word]
    program = words[1] if words[:1] == ["env"] and len(words) > 1 else "".join(words[:1])
    return _INTERPRETERS.get(program.rstrip("0123456789."), default)
