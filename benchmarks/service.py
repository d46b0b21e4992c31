"""A real ``fumehood serve`` on a port of its own, and a client that keeps its connection.

The settings are the service's defaults and whatever ``FUMEHOOD_…`` variables are set. The client writes a request that
was put together before and reads no more of the answer than it must, so that what is timed is the service.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from contest import Contender, await_that

_ROOT = Path(__file__).resolve().parents[1]
_READ_BYTES = 1 << 16
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_ANSWER_SECONDS = 300.0
_QUIET_SECONDS = 0.004
_STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Service:
    """A service that answers at ``address``."""

    process: psutil.Process
    address: tuple[str, int]

    def settle(self) -> None:
        """Wait until its processes are the same for a few milliseconds and none has used a processor."""
        await_that(self._is_quiet, lambda: "the service does not come to rest")

    def _is_quiet(self) -> bool:
        before = self._spent()
        time.sleep(_QUIET_SECONDS)
        return before == self._spent()

    def _spent(self) -> dict[int, str]:
        """Give what each process below the service has run, in the kernel's nanoseconds (proc_schedstat)."""
        spent = {}
        for each in self.process.children(recursive=True):
            with contextlib.suppress(OSError):
                spent[each.pid] = Path(f"/proc/{each.pid}/schedstat").read_text(encoding="ascii").partition(" ")[0]
        return spent

    def rss_bytes(self) -> int:
        """Give the resident memory of the service's own process."""
        return int(self.process.memory_info().rss)

    def descriptors(self) -> int:
        """Give how many descriptors the service's own process has open."""
        return int(self.process.num_fds())

    def contender(self, name: str, code: str, language: str = "python", burst: int = 1) -> Contender:
        """Give a contender with a connection of its own, who asks for one snippet that prints ``1``."""
        client = Client(self.address)
        request = client.request("/v1/execute", {"code": code, "language": language})
        return Contender(name=name, run=lambda: client.ask(request), check=_complaint, burst=burst)

    def alive(self, name: str) -> Contender:
        """Give a contender with a connection of its own, who asks whether the service is alive."""
        client = Client(self.address)
        request = client.request("/healthz")
        return Contender(
            name=name, run=lambda: client.ask(request), check=lambda answer: "" if b"ok" in answer else repr(answer)
        )


def _complaint(answer: bytes) -> str:
    told = json.loads(answer)
    return "" if (told.get("status"), told.get("stdout")) == ("ok", "1\n") else answer.decode()


class Client:
    """One connection that is kept, made at the first call: the service closes one on which nothing is asked."""

    def __init__(self, address: tuple[str, int], key: str | None = None) -> None:
        self._key = f"X-API-Key: {key}\r\n" if key else ""
        self._address = address
        self._host = f"{address[0]}:{address[1]}"

    @functools.cached_property
    def _socket(self) -> socket.socket:
        made = socket.create_connection(self._address, timeout=_ANSWER_SECONDS)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def request(self, path: str, body: object = None) -> bytes:
        """Give the bytes of a request: a POST of the body, or a GET."""
        if body is None:
            return f"GET {path} HTTP/1.1\r\nHost: {self._host}\r\n{self._key}\r\n".encode()
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n{self._key}"
        return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content

    def ask(self, request: bytes) -> bytes:
        """Send it and give the answer's body. Raises OSError."""
        self._socket.sendall(request)
        answer = b""
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self._more()
        length = _LENGTH.search(answer, 0, end)
        if length is None:
            raise OSError("an answer without a length")
        while len(answer) < end + 4 + int(length[1]):
            answer += self._more()
        return answer[end + 4 :]

    def _more(self) -> bytes:
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise OSError("the connection was closed")
        return data


@contextlib.contextmanager
def served(runtimes: Path | None, **settings: str) -> Iterator[Service]:
    """Start a service with further variables; it is stopped when the scope ends. Its records go with it."""
    environment = {**os.environ, **({"FUMEHOOD_RUNTIMES_DIR": str(runtimes)} if runtimes else {}), **settings}
    argv = [sys.executable, "-m", "fumehood", "serve", "--port", "0"]
    with (
        tempfile.TemporaryDirectory(prefix="fumehood-bench-") as records,
        open(os.devnull, "wb") as nowhere,  # noqa: PTH123 - its access log would be timed with it
        subprocess.Popen(
            argv,
            cwd=_ROOT,
            env={"FUMEHOOD_DATA_DIR": records, **environment},
            stdout=subprocess.PIPE,
            stderr=nowhere,
            text=True,
        ) as process,
    ):
        try:
            yield Service(psutil.Process(process.pid), _address(process))
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            process.kill()


def _address(process: subprocess.Popen[str]) -> tuple[str, int]:
    """Read the greeting."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    for line in process.stdout:
        found = re.search(r"serves http://([^:]+):([0-9]+)", line)
        if found:
            return found[1], int(found[2])
    raise SystemExit(f"the service ended with {process.wait()}; 'fumehood serve' says why")
