"""Warm children, the host's half: fork servers by what they have imported, and the children that wait in each.

A server is one bwrap sandbox with :mod:`sandbox.guest.zygote` in it. It holds ``depth`` children that are staged,
confined and rehearsed; a run takes one, the gap is filled after the run. Servers form a small tree by what they
import: a run gets a child of the smallest one that has all that its source imports. What they do not have is imported
by the run itself. A server is replaced after so many runs or seconds, since what its runs share (address layout, hash
seed, one kernel uid) should not last; one that nobody used for long is let go, and comes back when it is wanted.

Where the host refuses nested user namespaces no server comes up: its state says why, and every run is cold.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.config import Preload, WarmConfig
from sandbox.errors import SetupError
from sandbox.guest import wire
from sandbox.model import ForkServerState, Launcher, Plan, Runtime, RuntimeKind
from sandbox.slots import Slots
from sandbox.starter import Starter
from sandbox.waiting import SETUP_SECONDS, Staging, Waiting

_IMPORT_SECONDS = 60.0
_TICK_SECONDS = 5.0
_PATIENCE_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.5
_LAST_PAUSE_SECONDS = 60.0
_MOST_SOURCE_BYTES = 1 << 20
_COMING = "it has not come up yet"
_THREADED = frozenset({"numpy"})
# What modules of a data stack read when they are imported: a job that sets one imports them anew.
_READ_AT_IMPORT = re.compile(r"(MPL|OMP_|OPENBLAS_|MKL_|BLIS_|NUMEXPR_|NPY_|NUMPY_|PANDAS_)")
_log = logging.getLogger(__name__)

# Import statements as they stand at the start of a line. A hint, so a linear pattern over hostile text is enough: it is
# never parsed in this process.
_IMPORTS = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))", re.MULTILINE)


def imports_of(source: bytes) -> frozenset[str]:
    """Give the top names of the modules that a Python source visibly imports."""
    names = set()
    for match in _IMPORTS.finditer(source[:_MOST_SOURCE_BYTES]):
        for part in (match[1] or match[2]).split(b","):
            word = part.split()[:1]
            if word:
                names.add(word[0].partition(b".")[0].decode("ascii", "replace"))
    return frozenset(names)


@dataclass(slots=True, eq=False)
class _Server:
    """One fork server, its ``children`` that are not gone, those of them that wait, and how many were lent so far.

    A ``retired`` server is closed with the last of its children.
    """

    control: socket.socket
    complaint: Callable[[], str]
    namespaces: Mapping[str, str]
    uid: int | None
    scope: contextlib.ExitStack
    born: float
    ready: deque[Waiting] = field(default_factory=deque)
    children: int = 0
    runs: int = 0
    retired: bool = False


class Lent(NamedTuple):
    """A child that waits, and what to call where it fails before its run: its server is not to be trusted then."""

    child: Waiting
    doubt: Callable[[], None]


class Nest:
    """The server of one preload, replaced when it is due, and its waiting children; made by a thread of its own."""

    def __init__(
        self,
        preload: Preload,
        warm: WarmConfig,
        start: Callable[[Preload], _Server],
        staging: Staging,
        dispose: Callable[[contextlib.ExitStack], None],
    ) -> None:
        self.preload = preload
        self.covers = frozenset(name.partition(".")[0] for name in preload.imports)
        self.reason = _COMING
        self._warm = warm
        self._start = start
        self._staging = staging
        self._dispose = dispose
        self._changed = threading.Condition()
        self._server: _Server | None = None
        self._wanted = True
        self._used = time.monotonic()
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._wake.set()
        self._thread = threading.Thread(target=self._tend_until_closed, name=f"sandbox-{preload.name}", daemon=True)
        self._thread.start()

    def lend(self) -> Lent | None:
        """Give a child that waits, if need be after a short wait; None where there is no server yet or any more."""
        with self._changed:
            self._used = time.monotonic()
            self._wanted = True
            if self._server is None or not self._server.ready:
                self._wake.set()
                self._changed.wait_for(self._has_answer, _PATIENCE_SECONDS)
            server = self._server
            if server is None or not server.ready:
                return None
            server.runs += 1
            return Lent(server.ready.popleft(), functools.partial(self._doubt, server))

    def _doubt(self, server: _Server) -> None:
        """Take a child's failure for its server's: have a new one made, unless that has happened."""
        self._drop(server)
        self._wake.set()

    def _has_answer(self) -> bool:
        return self._server is None or bool(self._server.ready)

    def state(self) -> ForkServerState:
        """Give what ``doctor`` and the capabilities tell of it."""
        with self._changed:
            server = self._server
            gone = "it is being replaced" if self._wanted else "nobody has used it for long"
            reason = "" if server else self.reason or gone
            return ForkServerState(
                name=self.preload.name,
                up=server is not None,
                settled=server is not None or self.reason != _COMING,
                waiting=len(server.ready) if server else 0,
                reason=reason,
            )

    def close(self) -> None:
        """End the server and all that waits. No child of it may still run."""
        self._closing.set()
        self._wake.set()
        self._thread.join()
        self._drop()

    def _tend_until_closed(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._closing.is_set():
            self._wake.wait(_TICK_SECONDS)
            self._wake.clear()
            try:
                while not self._closing.is_set() and self._tend():
                    pause = _FIRST_PAUSE_SECONDS
            except Exception as error:  # noqa: BLE001 - without this thread there would be no server again
                self.reason = str(error)
                _log.warning("fork server %s: %s", self.preload.name, error)
                self._drop()
                self._closing.wait(pause)
                pause = min(2 * pause, _LAST_PAUSE_SECONDS)
                self._wake.set()

    def _tend(self) -> bool:
        """Do one thing that is due; False when there is none. Raises SandboxError."""
        now = time.monotonic()
        with self._changed:
            server, wanted, idle = self._server, self._wanted, now - self._used
        if server is None:
            if wanted:
                self._replace(None)
            return wanted
        if self.preload.imports and idle > self._warm.idle_seconds:
            self._wanted = False
            self._drop()
            return False
        if server.runs >= self._warm.runs_per_server or now - server.born > self._warm.seconds_per_server:
            self._replace(server)
            return True
        return self._fill(server)

    def _replace(self, old: _Server | None) -> None:
        new = self._start(self.preload)
        try:
            self._fill(new)
        except BaseException:
            self._retire(new)
            raise
        with self._changed:
            self._server = new
            self.reason = ""
            self._changed.notify_all()
        if old is not None:
            self._retire(old)

    def _fill(self, server: _Server) -> bool:
        """Make the children that are missing, all begun before the first is waited for."""
        with self._changed:
            missing = self._warm.depth - len(server.ready)
        begun: list[Waiting] = []
        try:
            begun.extend(self._begin(server) for _ in range(missing))
            for child in tuple(begun):
                self._staging.settle(child)
                begun.remove(child)
                with self._changed:
                    if not server.retired:
                        server.ready.append(child)
                        self._changed.notify()
                        continue
                self._dispose(child.scope)
        finally:
            for child in begun:
                self._dispose(child.scope)
        return missing > 0

    def _begin(self, server: _Server) -> Waiting:
        with contextlib.ExitStack() as scope:
            with self._changed:
                server.children += 1
            scope.callback(self._gone, server)
            near, far = socket.socketpair()
            scope.callback(near.close)

            def deliver(descriptors: Sequence[int]) -> None:
                wire.send_down(server.control, {"child": None}, [far.fileno(), *descriptors])

            with far:
                return self._staging.begin(
                    scope, near, deliver, server.complaint, server.uid, Launcher.WARM, server.namespaces
                )

    def _gone(self, server: _Server) -> None:
        """A child is no more; fill the gap, or close a retired server with its last one."""
        with self._changed:
            server.children -= 1
            over = server.retired and server.children == 0
        if over:
            self._dispose(server.scope)
        self._wake.set()

    def _drop(self, which: _Server | None = None) -> None:
        """Let go of the server; with ``which``, only if it is that one and no newer."""
        with self._changed:
            server = self._server
            if server is None or which not in (None, server):
                return
            self._server = None
            self._changed.notify_all()
        self._retire(server)

    def _retire(self, server: _Server) -> None:
        """Let its waiting children go; the server follows when no run needs it any more."""
        with self._changed:
            server.retired = True
            spare = list(server.ready)
            server.ready.clear()
            over = server.children == 0
        for child in spare:
            self._dispose(child.scope)
        if over:
            self._dispose(server.scope)


class Zygotes:
    """The tree: a nest for each preload, smallest first."""

    def __init__(
        self,
        runtime: Runtime,
        env: Mapping[str, str],
        argv: Sequence[str],
        starter: Starter,
        slots: Slots | None,
        staging: Staging,
        warm: WarmConfig,
        dispose: Callable[[contextlib.ExitStack], None],
    ) -> None:
        self._argv = argv
        self._starter = starter
        self._slots = slots
        self._serve = {
            "stage": staging.stage,
            "links": [list(link) for link in runtime.links],
            "env": dict(env),
        }
        preloads = warm.preloads if warm.enabled else ()
        self._nests = [Nest(preload, warm, self._start, staging, dispose) for preload in preloads]

    def lend(self, plan: Plan) -> Lent | None:
        """Give a child for the plan; None where the run must be cold."""
        if plan.launcher is Launcher.COLD:
            return None
        for nest in self._fitting(plan):
            lent = nest.lend()
            if lent is not None:
                return lent
        return None

    def states(self) -> tuple[ForkServerState, ...]:
        """Give what each nest tells of itself."""
        return tuple(nest.state() for nest in self._nests)

    def close(self) -> None:
        """End all servers. No warm child may still run."""
        for nest in self._nests:
            nest.close()

    def _fitting(self, plan: Plan) -> list[Nest]:
        """Give the nests worth asking, the best first: the smallest that covers all that can be covered."""
        if plan.runtime.kind is not RuntimeKind.PYTHON:
            return self._nests[:1]
        usable = [nest for nest in self._nests if not (nest.covers & _THREADED and self._reads_differently(plan))]
        wanted = imports_of(plan.code) & frozenset().union(*(nest.covers for nest in usable))
        return sorted(usable, key=lambda nest: (len(wanted - nest.covers), len(nest.covers)))

    @staticmethod
    def _reads_differently(plan: Plan) -> bool:
        """Whether the run sets what a preloaded data stack has read already: its threads, or a variable of its own."""
        return plan.cpus != 1 or any(_READ_AT_IMPORT.match(name) for name in plan.own_env)

    def _start(self, preload: Preload) -> _Server:
        with contextlib.ExitStack() as scope:
            uid = self._slots.lend(scope) if self._slots else None
            started = self._starter.start(scope, self._argv, uid)
            started.control.settimeout(_IMPORT_SECONDS)
            inbox = wire.Inbox(started.control, 1 << 16)
            try:
                wire.send_down(started.control, {"serve": {**self._serve, "imports": list(preload.imports)}})
                answer = inbox.receive()
            except (OSError, wire.WireError) as error:
                raise SetupError("fork server", 0, f"{error}; {started.complaint()}") from error
            if answer is None or "serving" not in answer:
                raise SetupError("fork server", 0, started.complaint() or "it ended early")
            started.control.settimeout(SETUP_SECONDS)
            namespaces = answer["serving"]["namespaces"]
            return _Server(started.control, started.complaint, namespaces, uid, scope.pop_all(), time.monotonic())
