"""What no guest may read, reach or change, laid where an unconfined program would find it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import socket
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LONG_AGO = (1, 1_000_000_000)  # a time of access before that of modification: relatime then notes every reading
_SEGMENT_BYTES = 4096
_IPC_CREAT, _IPC_EXCL, _IPC_RMID = 0o1000, 0o2000, 0
VARIABLE = "FUMEHOOD_TEST_SECRET"


@dataclass(frozen=True)
class Canary:
    """A file, a variable of the service, listeners on loopback and on two unix sockets, a System V segment."""

    secret: str
    file: Path
    listeners: tuple[socket.socket, ...]
    key: int

    @property
    def environment(self) -> dict[str, str]:
        """What a payload is told, so that it need not search."""
        tcp, udp, abstract, named = self.listeners
        return {
            "CANARY_FILE": str(self.file),
            "CANARY_PORT": str(tcp.getsockname()[1]),
            "CANARY_UDP_PORT": str(udp.getsockname()[1]),
            "CANARY_ABSTRACT": abstract.getsockname()[1:].decode(),
            "CANARY_SOCKET": named.getsockname(),
            "CANARY_KEY": str(self.key),
        }

    def rest(self) -> None:
        """Let a touch show from now on."""
        os.utime(self.file, _LONG_AGO)

    def touches(self) -> list[str]:
        """Say what has been touched since :meth:`rest`."""
        status = self.file.stat()
        found = [] if status.st_atime == _LONG_AGO[0] else ["the file was read"]
        now = (status.st_mtime, stat.S_IMODE(status.st_mode), status.st_nlink, status.st_size)
        if now != (_LONG_AGO[1], 0o666, 1, len(self.secret)):
            found.append("the file was changed")
        beside = sorted(path.name for path in self.file.parent.iterdir())
        if beside != ["secret", "socket"]:
            found.append(f"its folder holds {beside}")
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                _take(listener)
                found.append(f"{listener.getsockname()!r} was reached")
        return found


def _take(listener: socket.socket) -> None:
    """Take what somebody sent or began, if anybody did. Raises BlockingIOError."""
    if listener.type == socket.SOCK_STREAM:
        listener.accept()[0].close()
    else:
        listener.recv(1)


@contextlib.contextmanager
def laid() -> Iterator[Canary]:
    """Lay one."""
    secret = "FH-CANARY-" + secrets.token_hex(8)
    libc = ctypes.CDLL(None)
    with contextlib.ExitStack() as scope:
        # Where everybody may enter, and where no writable place of a guest would cover it.
        folder = Path(scope.enter_context(tempfile.TemporaryDirectory(prefix="fumehood-canary-", dir="/var/tmp")))
        folder.chmod(0o777)
        file = folder / "secret"
        file.write_text(secret)
        file.chmod(0o666)
        places: list[tuple[int, int, Any]] = [
            (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            (socket.AF_UNIX, socket.SOCK_STREAM, f"\0fumehood-canary-{secrets.token_hex(8)}"),
            (socket.AF_UNIX, socket.SOCK_STREAM, str(folder / "socket")),
        ]
        listeners = []
        for family, kind, address in places:
            listeners.append(scope.enter_context(socket.socket(family, kind)))
            listeners[-1].bind(address)
            listeners[-1].settimeout(0)
            if kind == socket.SOCK_STREAM:
                listeners[-1].listen()
        (folder / "socket").chmod(0o777)
        key = secrets.randbits(30) | 1
        segment = libc.shmget(key, _SEGMENT_BYTES, _IPC_CREAT | _IPC_EXCL | 0o666)
        scope.callback(libc.shmctl, segment, _IPC_RMID, None)
        os.environ[VARIABLE] = secret
        scope.callback(os.environ.pop, VARIABLE)
        canary = Canary(secret, file, tuple(listeners), key)
        canary.rest()
        yield canary
