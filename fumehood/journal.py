"""What happened, appended to a file of this machine before it is in the database.

A line is in the kernel's hands when ``write`` returns: killing the service cannot take it back. So a run is on record
before its guest starts and its end before it is answered, however far the database is behind, and neither waits for it.

An instance of the service holds a lock on ``<instance>.lock`` as long as it lives, and writes segments
``<instance>.<number>.jsonl`` beside it. A segment goes when all of it is in the database. What lies here without a
living owner is the last word of an instance that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SEGMENT_BYTES = 4 << 20
"""A segment this long is followed by another, so that the first can go."""


class Journal:
    """One instance's journal, open for appending. Safe for many threads. Made by :meth:`open`."""

    def __init__(self, folder: Path, instance: str, lock: int) -> None:
        self._folder = folder
        self._instance = instance
        self._lock = lock
        self._writing = threading.Lock()
        self._number = 0
        self._size = 0
        self._segment = self._new_segment()

    @classmethod
    def open(cls, folder: Path, instance: str) -> Journal:
        """Begin a journal in the folder, which is made where it is missing. Raises OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / f"{instance}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return cls(folder, instance, lock)
        except BaseException:
            os.close(lock)
            raise

    def append(self, entry: dict[str, Any]) -> None:
        """Write one entry. Raises OSError; then nothing of it counts."""
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        with self._writing:
            before = self._size
            try:
                while line:
                    written = os.write(self._segment, line)
                    self._size += written
                    line = line[written:]
            except OSError:
                with contextlib.suppress(OSError):  # half a line must not spoil the next one
                    os.ftruncate(self._segment, before)
                    self._size = before
                raise

    def mark(self) -> int:
        """The number of the first segment whose entries may come after this moment. For :meth:`forget`."""
        with self._writing:
            if self._size >= _SEGMENT_BYTES:
                os.close(self._segment)
                self._number += 1
                self._size = 0
                self._segment = self._new_segment()
            return self._number

    def forget(self, mark: int) -> None:
        """Remove the segments before the mark: all of them is in the database."""
        for number, path in _segments(self._folder, self._instance):
            if number < mark:
                path.unlink(missing_ok=True)

    def close(self, *, done: bool) -> None:
        """Let it go; where all of it is in the database (``done``) nothing is left behind."""
        with self._writing:
            os.close(self._segment)
            self._segment = -1  # whoever comes late must not write into a file that has its number by then
            if done:
                self.forget(self._number + 1)
                (self._folder / f"{self._instance}.lock").unlink(missing_ok=True)
            os.close(self._lock)

    def _new_segment(self) -> int:
        path = self._folder / f"{self._instance}.{self._number}.jsonl"
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)


class Abandoned:
    """The journal of an instance that lives no more, held so that nobody else takes it up at the same time."""

    def __init__(self, folder: Path, instance: str, lock: int) -> None:
        self.instance = instance
        self._folder = folder
        self._lock = lock

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every entry that was written whole, in its order."""
        for _, path in _segments(self._folder, self.instance):
            with path.open("rb") as lines:
                for line in lines:
                    try:
                        entry = json.loads(line)
                    except ValueError:  # the killed write
                        continue
                    yield entry

    def remove(self) -> None:
        """Forget it: all of it is in the database."""
        for _, path in _segments(self._folder, self.instance):
            path.unlink(missing_ok=True)
        (self._folder / f"{self.instance}.lock").unlink(missing_ok=True)

    def release(self) -> None:
        """Leave it to whoever looks next."""
        os.close(self._lock)


def abandoned(folder: Path) -> Iterable[Abandoned]:
    """Every journal in the folder whose instance lives no more. Each must be released."""
    for path in sorted(folder.glob("*.lock")):
        lock = _take(path)
        if lock is not None:
            yield Abandoned(folder, path.stem, lock)


def living(folder: Path) -> frozenset[str]:
    """The instances with a journal in this folder that live."""
    found = set()
    for path in folder.glob("*.lock"):
        lock = _take(path)
        if lock is None:
            found.add(path.stem)
        else:
            os.close(lock)
    return frozenset(found)


def _take(path: Path) -> int | None:
    """The lock of a dead instance; None where it lives, or somebody else has taken it up and removed it."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    if not path.exists():
        os.close(lock)
        return None
    return lock


def _segments(folder: Path, instance: str) -> list[tuple[int, Path]]:
    """An instance's segments by number."""
    found = []
    for path in folder.glob(f"{instance}.*.jsonl"):
        number = path.name.removeprefix(f"{instance}.").removesuffix(".jsonl")
        if number.isdecimal():
            found.append((int(number), path))
    return sorted(found)
