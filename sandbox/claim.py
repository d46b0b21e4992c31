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


def make(parent: str, prefix: str = "") -> Claim:
    """Make a folder of a new name and claim it. Raises OSError."""
    for _ in range(_ATTEMPTS):
        path = f"{parent}/{prefix}{fresh_name()}"
        Path(path).mkdir(mode=0o755)
        made = take(path)
        if made is not None:  # else a sweep came between, and took it for abandoned
            return made
    raise OSError(errno.EAGAIN, "another service removes what is made here", parent)


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
