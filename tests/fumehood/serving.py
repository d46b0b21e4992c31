"""A live server on a free loopback port, over whatever engine and analyser a test wants."""

from __future__ import annotations

import contextlib
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from doubles import ScriptedAnalyser, ScriptedBox

from fumehood.app import create_app
from fumehood.executions import Box
from fumehood.server import Server
from fumehood.settings import Settings
from fumehood.store.database import Database
from sandbox.selfcheck import Finding

HELD = (Finding(name="run", layer=None, held=True, detail="", remedy="", required=True),)


@dataclass
class Live:
    """A running service: its address, a client of it, and what it stands on."""

    address: str
    client: httpx2.Client
    box: Any
    analyser: Any
    server: Server
    app: Any
    findings: list[Finding] = field(default_factory=list)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.address.rpartition(":")[2])

    def execute(self, **request: Any) -> httpx2.Response:
        """Call ``/v1/execute``."""
        return self.client.post("/v1/execute", json=request)

    def problem(self, answer: httpx2.Response) -> tuple[int, str, list[str]]:
        """Give an error's status, the last word of its type, and the paths of its fields, after checking its form."""
        assert answer.headers["content-type"] == "application/problem+json"
        told = answer.json()
        assert told["status"] == answer.status_code
        assert told["title"]
        assert told["detail"]
        prefix, _, slug = told["type"].rpartition(":")
        assert prefix == "urn:fumehood:problem"
        return answer.status_code, slug, [error["path"] for error in told.get("errors", [])]


def until(condition: Callable[[], bool], seconds: float = 5) -> None:
    """Wait for what another thread or process will do, but no longer than so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@contextlib.contextmanager
def state_folder() -> Iterator[Path]:
    """Make a state folder. As root, guests have uids of their own and must reach it, unlike pytest's folders."""
    with tempfile.TemporaryDirectory(prefix="fumehood-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextlib.contextmanager
def serving(
    settings: Settings,
    box: Box | None = None,
    analyser: Any = None,
    probe: Callable[[], tuple[Finding, ...]] = lambda: HELD,
    database: Database | None = None,
) -> Iterator[Live]:
    """Serve until the block ends; then stop as on SIGTERM and wait for it."""
    box = box or ScriptedBox()
    analyser = analyser or ScriptedAnalyser()
    app = create_app(settings, box=box, analyser=analyser, probe=probe, database=database)
    addresses: queue.Queue[str] = queue.Queue()
    server = Server(app, settings, addresses.put)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        address = addresses.get(timeout=10)
        with httpx2.Client(base_url=address, timeout=30) as client:
            yield Live(address, client, box, analyser, server, app)
    finally:
        if isinstance(box, ScriptedBox):
            box.let_go.set()
        server.should_exit = True
        thread.join(timeout=30)
        assert not thread.is_alive()
