"""Control files of a group: read and written in one call each, as kernfs wants it."""

from __future__ import annotations

import errno
import os

from sandbox.errors import SetupError

_READ_BYTES = 4096


def write(path: str, text: str) -> None:
    """Write one control file in one call, as kernfs wants it. Raises OSError; never creates a file."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def put(directory: str, file: str, text: str) -> None:
    """Write one control file of a group. Raises SetupError with ``cgroup <file>`` as its step."""
    try:
        write(f"{directory}/{file}", text)
    except OSError as error:
        raise SetupError(f"cgroup {file}", error.errno or 0, text) from error


def put_if_present(directory: str, file: str, text: str) -> bool:
    """Write a control file that not every kernel has; say whether it was there. Raises SetupError as :func:`put`."""
    try:
        put(directory, file, text)
    except SetupError as error:
        if error.errno == errno.ENOENT and os.path.isdir(directory):
            return False
        raise
    return True


def words(file: str | int) -> list[str]:
    """Return the blank-separated words of a control file, given by its path or open. Raises OSError."""
    if isinstance(file, int):
        return _read(file)
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read(fd)
    finally:
        os.close(fd)


def _read(fd: int) -> list[str]:
    text = os.pread(fd, _READ_BYTES, 0)
    while len(text) % _READ_BYTES == 0 and (more := os.pread(fd, _READ_BYTES, len(text))):  # a shorter one was the end
        text += more
    return text.decode().split()


def number(file: str | int) -> int:
    """Return the number a control file holds. Raises OSError."""
    return int(words(file)[0])


def number_if_present(file: str | int) -> int | None:
    """Return the number a control file holds, None where this kernel lacks the file."""
    try:
        return number(file)
    except FileNotFoundError:
        return None


def entry(file: str | int, key: str) -> int:
    """Return the number after ``key`` in a file of ``key value`` lines; 0 where the kernel lacks file or key."""
    try:
        pairs = words(file)
    except FileNotFoundError:
        return 0
    return int(pairs[pairs.index(key) + 1]) if key in pairs else 0
