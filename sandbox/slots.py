"""Kernel uids for guests, as root: each bwrap under one that no other on this machine has at the same time.

Per-user kernel quotas (processes, pipe pages, pending signals) are then those of one cold run, or of one fork server's
runs, and the processes of two could not signal one another even if they met. A slot is a lock file, so that services
started side by side share the range.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from pathlib import Path

from sandbox.errors import SetupError

PLACE = Path("/run/fumehood/slots")

_PATIENCE_SECONDS = 10.0
_POLL_SECONDS = 0.02  # another service's give cannot wake us


class Slots:
    """Lends uids ``base … base + count - 1``, each locked from :meth:`take` to :meth:`give` and no longer."""

    def __init__(self, folder: Path, base: int, count: int) -> None:
        self._folder = folder
        self._base = base
        self._count = count
        self._given = threading.Condition()
        self._held: dict[int, int] = {}
        self._next = 0
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError("slot", error.errno or 0, str(folder)) from error

    def take(self) -> int:
        """Give a uid, if need be after a wait for one to be given back. Raises SetupError when none was for long."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with self._given:
            while (uid := self._find()) is None:
                if time.monotonic() >= deadline:
                    raise SetupError(
                        "slot", 0, f"all {self._count} guest uids have been in use for {_PATIENCE_SECONDS:g} s"
                    )
                self._given.wait(_POLL_SECONDS)
        return uid

    def _find(self) -> int | None:
        # From where the last search ended: services side by side then rarely meet at one lock.
        for step in range(self._count):
            uid = self._base + (self._next + step) % self._count
            if uid in self._held:
                continue
            descriptor = os.open(self._folder / str(uid), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            except OSError:
                os.close(descriptor)
                raise
            self._held[uid] = descriptor
            self._next = uid - self._base + 1
            return uid
        return None

    def lend(self, scope: contextlib.ExitStack) -> int:
        """Give a uid until the scope ends. Raises SetupError when every slot is in use."""
        uid = self.take()
        scope.callback(self.give, uid)
        return uid

    def give(self, uid: int) -> None:
        """Take a uid back, for whoever on this machine is next."""
        with self._given:
            descriptor = self._held.pop(uid, None)  # none: closed meanwhile
            if descriptor is not None:
                os.close(descriptor)
            self._given.notify()

    def close(self) -> None:
        """Let go of every lock."""
        with self._given:
            for descriptor in self._held.values():
                os.close(descriptor)
            self._held.clear()
