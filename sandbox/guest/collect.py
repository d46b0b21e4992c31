"""Take files out of the workspace after every process of the guest is dead. No link is followed, nothing is waited for.

Globs match as ``pathlib.PurePath`` parts do (dotfiles included); ``**`` matches any number of folders, and at the end
of a pattern every file below (Python 3.13's meaning).

Against the guest and against a caller's globs: a name is matched once, from where the folder above it left off; a
folder in which nothing can match is not opened; and the walk has an end in time, after which it says where it stopped.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_READ_BYTES = 1 << 20
_PATH_MAX = 4096  # with the NUL at its end; what is longer cannot be named to the kernel in one piece, nor to a caller
_SECONDS = 8.0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LATE = "late"


def collect(
    root: str,
    globs: list[str],
    most_files: int,
    most_bytes: int,
    send: Callable[[str, bytes], None],
    seconds: float = _SECONDS,
) -> list[list[str]]:
    """Send every regular file below ``root`` that a glob matches, in path order; give ``[[path, reason]]`` of the rest.

    Reasons are those of ``sandbox.model.SkipReason``. At most ``most_files`` skips are listed as well. A folder that
    cannot be looked into, ``.`` for ``root`` itself, is listed where a glob may match below it. After ``seconds`` the
    last one listed is where the walk stopped, as ``too_many``: neither it nor what comes after was looked at.
    """
    if not globs:
        return []
    skipped: list[list[str]] = []
    sent = 0
    left = most_bytes
    until = time.monotonic() + seconds
    for path, folder, name, found in _walk(root, _Globs(globs), until):
        reason = found
        content = b""
        if reason is None:
            content, reason = (b"", "too_many") if sent >= most_files else _read(folder, name, left)
        if reason is None:
            send(path.decode("utf-8"), content)
            sent += 1
            left -= len(content)
        elif reason == _LATE:
            skipped[most_files - 1 :] = [[_shown(path), "too_many"]]
        elif len(skipped) < most_files:
            skipped.append([_shown(path), reason])
    return skipped


def _shown(path: bytes) -> str:
    """Give a path that stays behind for people to read."""
    cut = "" if len(path) < _PATH_MAX else "…"
    return path[: _PATH_MAX - 1].decode("utf-8", "replace") + cut


def _walk(root: str, globs: _Globs, until: float) -> Iterator[tuple[bytes, int, bytes, str | None]]:
    """Give (relative path, open folder, name, why not) of everything below that a glob matches and is no folder.

    Each folder is opened relative to its parent and costs a descriptor. One that lies deeper than descriptors, rights
    or PATH_MAX reach is given in place of what is below it.
    """
    try:
        top = os.open(root, _FOLDER)
    except OSError:
        yield b".", -1, b"", "unreadable"
        return
    stack = [(b"", top, globs.start, _names(top))]
    try:
        while stack:
            prefix, folder, above, names = stack[-1]
            if not names:
                os.close(folder)
                stack.pop()
                continue
            name = names.pop()
            path = prefix + name
            if time.monotonic() > until:
                yield path, folder, name, _LATE
                return
            here = globs.step(above, name.decode("utf-8", "replace"))
            if not here:
                continue
            below, reason = _look(folder, name, path, opens=globs.goes_on(here))
            if below is not None:
                stack.append((path + b"/", below, here, _names(below)))
            elif reason != _NOTHING_BELOW and (globs.matches(here) or reason == "unreadable"):
                yield path, folder, name, reason
    finally:
        for _, folder, _, _ in stack:
            os.close(folder)


_NOTHING_BELOW = "nothing below"


def _look(folder: int, name: bytes, path: bytes, *, opens: bool) -> tuple[int | None, str | None]:
    """Open it if it is a folder in which something may match; else tell what, besides its size, keeps it back."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            if not opens:
                return None, _NOTHING_BELOW
            # Where not even one letter more could be named there is nothing to look for.
            return (os.open(name, _FOLDER, dir_fd=folder), None) if len(path) + 2 < _PATH_MAX else (None, "unreadable")
    except OSError:
        return None, "unreadable"
    if len(path) >= _PATH_MAX:
        return None, "unreadable"
    return None, _why_not(path, mode)


def _why_not(path: bytes, mode: int) -> str | None:
    if stat.S_ISLNK(mode):
        return "symlink"
    if not stat.S_ISREG(mode):
        return "special"
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return "name"
    return None


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


class _Globs:
    """All patterns as one machine: it reads a path part by part, and its state is the set of places it may be at.

    A place is an index in ``_parts``, where the patterns stand one behind the other, each with a last place that is
    its end. Work for one name is at most one match for each place; a state is kept for each open folder.
    """

    def __init__(self, globs: list[str]) -> None:
        import fnmatch  # only a run that collects pays for them
        import re

        self._parts: list[Callable[[str], object] | None] = []  # None: any number of folders
        self._ends: set[int] = set()
        starts = set()
        for glob in globs:
            starts.add(len(self._parts))
            parts = [part for part in glob.split("/") if part not in ("", ".")]
            if parts and parts[-1] == "**":
                parts.append("*")  # at the end it means every file below
            for number, part in enumerate(parts):
                if part != "**":
                    self._parts.append(re.compile(fnmatch.translate(part)).match)
                elif number == 0 or parts[number - 1] != "**":  # twice in a row it means what it means once
                    self._parts.append(None)
            self._ends.add(len(self._parts))
            self._parts.append(None)
        self.start = self._with_skips(starts)

    def step(self, state: frozenset[int], name: str) -> frozenset[int]:
        """Read one more part of a path; an empty state can lead nowhere."""
        there = set()
        for place in state - self._ends:
            part = self._parts[place]
            if part is None:
                there.add(place)
            elif part(name):
                there.add(place + 1)
        return self._with_skips(there)

    def matches(self, state: frozenset[int]) -> bool:
        """Whether what was read is a whole match."""
        return not self._ends.isdisjoint(state)

    def goes_on(self, state: frozenset[int]) -> bool:
        """Whether something below may match."""
        return not self._ends.issuperset(state)

    def _with_skips(self, places: set[int]) -> frozenset[int]:
        """Add where one is if ``**`` stands for no folder at all."""
        skips = {place + 1 for place in places if self._parts[place] is None and place not in self._ends}
        return frozenset(places | skips)
