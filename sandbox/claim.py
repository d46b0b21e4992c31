"""Whose a folder is: who made it holds it by a lock as long as he lives; a dead one's the kernel lets go (flock(2)).

So folders need not be named after their owner. Guests see the names of some (``/proc/self/mountinfo`` shows what a bind
mount shows, ``/proc/self/cgroup`` the run's group); these are random, and tell nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ATTEMPTS = 8
_NAME_BYTES = 8
NAME = f"[0-9a-f]{{{2 * _NAME_BYTES}}}"
"""What :func:`fresh_name` gives, as a pattern."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A folder that is ours until :meth:`release`, or until this process ends in whatever way."""

    path: str
    lock: int

    def release(self) -> None:
        """Let go, after the folder is removed: before, anybody may remove it."""
        os.close(self.lock)


def fresh_name() -> str:
    """Give a name that nothing can be read from."""
    return secrets.token_hex(_NAME_BYTES)


def make(parents: Sequence[str], prefix: str = "") -> tuple[Claim, ...]:
    """Make a folder of one new name in each of these, and claim them. Raises OSError; then none is left."""
    for _ in range(_ATTEMPTS):
        name = f"{prefix}{fresh_name()}"
        with contextlib.ExitStack() as undone:
            made = []
            for parent in parents:
                path = Path(parent, name)
                path.mkdir(mode=0o755)
                undone.callback(_remove, path)
                taken = take(str(path))
                if taken is None:  # a sweep came between, and took it for abandoned
                    break
                undone.callback(taken.release)
                made.append(taken)
            else:
                undone.pop_all()
                return tuple(made)
    raise OSError(errno.EAGAIN, "another service removes what is made here", str(parents[0]))


def _remove(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        folder.rmdir()


def take(path: str) -> Claim | None:
    """Claim a folder that is there; None where somebody lives who has, where it is gone, or where we may not."""
    with contextlib.ExitStack() as scope:
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            scope.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if Path(path).stat().st_ino != os.fstat(lock).st_ino:  # another one by now
                return None
        except OSError:
            return None
        scope.pop_all()
        return Claim(path, lock)
