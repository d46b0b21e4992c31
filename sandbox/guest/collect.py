"""Take files out of the workspace after every process of the guest is dead. No link is followed, nothing is waited for.

Globs match as ``pathlib.PurePath`` parts do (dotfiles included); ``**`` matches any number of folders, and at the end
of a pattern every file below (Python 3.13's meaning).
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_READ_BYTES = 1 << 20
_PATH_MAX = 4096  # what lies deeper cannot be named to the kernel in one piece, nor to a caller


def collect(
    root: str, globs: list[str], most_files: int, most_bytes: int, send: Callable[[str, bytes], None]
) -> list[list[str]]:
    """Send every regular file below ``root`` that a glob matches, in path order; give ``[[path, reason]]`` of the rest.

    Reasons are those of ``sandbox.model.SkipReason``. At most ``most_files`` skips are listed as well.
    """
    if not globs:
        return []
    import fnmatch  # only a run that collects pays for them
    import re

    patterns = [_Glob(glob, lambda part: re.compile(fnmatch.translate(part)).match) for glob in globs]
    skipped: list[list[str]] = []
    sent = 0
    left = most_bytes
    for path, folder, name, mode in _walk(root):
        text = path.decode("utf-8", "replace")
        if not any(pattern.matches(text) for pattern in patterns):
            continue
        reason = "too_many" if sent >= most_files else _why_not(path, mode)
        content = b""
        if reason is None:
            content, reason = _read(folder, name, left)
        if reason is None:
            send(text, content)
            sent += 1
            left -= len(content)
        elif len(skipped) < most_files:
            skipped.append([text, reason])
    return skipped


def _why_not(path: bytes, mode: int) -> str | None:
    """Tell what, besides its size, keeps a file from being returned."""
    if stat.S_ISLNK(mode):
        return "symlink"
    if not stat.S_ISREG(mode):
        return "special"
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return "name"
    return None


def _walk(root: str) -> Iterator[tuple[bytes, int, bytes, int]]:
    """Give (relative path, open folder, name, mode) of everything below that is not a folder.

    Each folder is opened relative to its parent and costs a descriptor. One that lies deeper than descriptors or
    PATH_MAX reach is given as if it were a file that cannot be read.
    """
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    stack: list[tuple[bytes, int, list[bytes]]] = [(b"", top, _names(top))]
    try:
        while stack:
            prefix, folder, names = stack[-1]
            if not names:
                os.close(folder)
                stack.pop()
                continue
            name = names.pop()
            path = (prefix + name)[:_PATH_MAX]
            try:
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    if len(path) == _PATH_MAX:
                        raise OSError(errno.ENAMETOOLONG, "path too long")  # noqa: TRY301 - as open would
                    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                    below = os.open(name, flags, dir_fd=folder)
                    stack.append((path + b"/", below, _names(below)))
                    continue
            except OSError:
                yield path, folder, b"", stat.S_IFREG  # the empty name opens nothing: ``unreadable``
                continue
            yield path, folder, name, mode
    finally:
        for _, folder, _ in stack:
            os.close(folder)


def _names(folder: int) -> list[bytes]:
    """Names in a folder, last first, for taking from the end."""
    return sorted(map(os.fsencode, os.listdir(folder)), reverse=True)


def _read(folder: int, name: bytes, most_bytes: int) -> tuple[bytes, str | None]:
    """Give the content, or why not."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return b"", "unreadable"
    try:
        size = os.fstat(descriptor).st_size  # true: nobody is left to change it
        if size > most_bytes:
            return b"", "too_large"
        parts = []
        while chunk := os.read(descriptor, _READ_BYTES):
            parts.append(chunk)
        return b"".join(parts), None
    finally:
        os.close(descriptor)


class _Glob:
    """One pattern, matched part by part in linear time: a set of positions moves along the path."""

    def __init__(self, text: str, compile_part: Callable[[str], Callable[[str], object]]) -> None:
        parts = [part for part in text.split("/") if part not in ("", ".")]
        if parts and parts[-1] == "**":
            parts.append("*")  # at the end it means every file below
        self._parts = [None if part == "**" else compile_part(part) for part in parts]

    def matches(self, path: str) -> bool:
        """Whether the whole relative path fits."""
        end = len(self._parts)
        here = self._skip_folders({0})
        for name in path.split("/"):
            there = set()
            for position in here:
                if position == end:
                    continue
                part = self._parts[position]
                if part is None:
                    there.add(position)
                elif part(name):
                    there.add(position + 1)
            here = self._skip_folders(there)
        return end in here

    def _skip_folders(self, positions: set[int]) -> set[int]:
        for position in tuple(positions):
            at = position
            while at < len(self._parts) and self._parts[at] is None:
                at += 1
                positions.add(at)
        return positions
