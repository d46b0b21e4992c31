"""A fork server and the children that wait in it: made, filled, replaced and let go by a thread of its own."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sandbox.config import Preload, WarmConfig
from sandbox.guest import wire
from sandbox.model import ForkServerState, Launcher
from sandbox.starter import Started
from sandbox.waiting import Staging, Waiting

_TICK_SECONDS = 5.0
_PATIENCE_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.5
_LAST_PAUSE_SECONDS = 60.0
_YOUNG_SECONDS = 2.0
_COMING = "it has not come up yet"
_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Server:
    """One fork server, its ``children`` that are not gone, those of them that wait, and how many were lent so far.

    ``modules`` are the top names of all that it has imported, whoever asked for it. A ``retired`` server is closed with
    the last of its children.
    """

    started: Started
    namespaces: Mapping[str, str]
    modules: frozenset[str]
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


@dataclass(slots=True, eq=False)
class _Caller:
    """Somebody who waits for a child, and is woken with one or with none."""

    woken: threading.Event = field(default_factory=threading.Event)
    lent: Lent | None = None


class Wake:
    """Wakes the one thread that waits for it, from any thread; what was set before the wait counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event: int | None = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def set(self) -> None:
        """Wake it. Nothing happens after the close."""
        with self._lock:
            if self._event is not None:
                os.eventfd_write(self._event, 1)

    def wait(self, seconds: float, other: int) -> bool:
        """Wait to be woken, or for another descriptor (none when negative) to be readable; True for that."""
        waiter = select.poll()
        event = self._event
        assert event is not None, "waited for after its close"  # noqa: S101 - by its own thread, which is joined before
        waiter.register(event, select.POLLIN)
        if other >= 0:
            waiter.register(other, select.POLLIN)
        stirred = {descriptor for descriptor, _ in waiter.poll(seconds * 1000)}
        if event in stirred:
            os.eventfd_read(event)
        return other in stirred

    def close(self) -> None:
        """Give the descriptor back."""
        with self._lock:
            if self._event is not None:
                os.close(self._event)
            self._event = None


class Nest:
    """The server of one preload, replaced when it is due, and its waiting children; made by a thread of its own."""

    def __init__(
        self,
        preload: Preload,
        warm: WarmConfig,
        start: Callable[[Preload], Server],
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
        self._lock = threading.Lock()
        self._callers: deque[_Caller] = deque()
        self._patient: deque[_Caller] = deque()
        self._kept = warm.depth // 2
        """How many children are not for the patient."""
        self._server: Server | None = None
        self._wanted = True
        self._used = time.monotonic()
        self._started = 0
        self._failures = 0
        self._closing = threading.Event()
        self._wake = Wake()
        self._wake.set()
        self._thread = threading.Thread(target=self._tend_until_closed, name=f"sandbox-{preload.name}", daemon=True)
        self._thread.start()

    @property
    def modules(self) -> frozenset[str]:
        """What is imported in it, by top names; nothing where no server is up."""
        server = self._server
        return server.modules if server else frozenset()

    def lend(self, foreign: frozenset[str] = frozenset(), *, patient: bool = False) -> Lent | None:
        """Give a child that waits, if need be after a short wait, in the order in which callers came.

        Who is ``patient`` leaves half of the children to those who are not, and waits behind them. None where there is
        no server yet or any more, where it has imported one of the ``foreign`` modules, or none of its children came in
        time.
        """
        with self._lock:
            self._used = time.monotonic()
            self._wanted = True
            if self._server is None:
                self._wake.set()
                return None
            if not foreign.isdisjoint(self._server.modules):
                return None
            caller = _Caller()
            line = self._patient if patient else self._callers
            line.append(caller)
            self._serve(self._server)
            if caller.lent is None:
                self._wake.set()
        if caller.lent is None:
            caller.woken.wait(_PATIENCE_SECONDS)
            with self._lock, contextlib.suppress(ValueError):
                line.remove(caller)
        return caller.lent

    def _serve(self, server: Server) -> None:
        """Hand children to callers, first to first. With the lock."""
        while server.ready:
            line = self._callers or (self._patient if len(server.ready) > self._kept else None)
            if not line:
                return
            server.runs += 1
            caller = line.popleft()
            caller.lent = Lent(server.ready.popleft(), functools.partial(self._doubt, server))
            caller.woken.set()

    def _doubt(self, server: Server) -> None:
        """Take a child's failure for its server's: have a new one made, unless that has happened."""
        self._count_failure()
        self._drop(server)
        self._wake.set()

    def _count_failure(self) -> None:
        with self._lock:
            self._failures += 1

    def state(self) -> ForkServerState:
        """Give what ``doctor`` and the capabilities tell of it."""
        with self._lock:
            server = self._server
            gone = "it is being replaced" if self._wanted else "nobody has used it for long"
            reason = "" if server else self.reason or gone
            return ForkServerState(
                name=self.preload.name,
                up=server is not None,
                settled=server is not None or self.reason != _COMING,
                waiting=len(server.ready) if server else 0,
                reason=reason,
                pid=server.started.pid if server else None,
                started=self._started,
                failures=self._failures,
            )

    def close(self) -> None:
        """End all that waits, and the server: with the last of its runs, where there are any. Nothing is lent again."""
        self._closing.set()
        self._wake.set()
        self._thread.join()
        self._drop()
        self._wake.close()

    def _tend_until_closed(self) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while not self._closing.is_set():
            server = self._server
            # A server that serves says nothing more: what can be read from it is its end.
            if self._wake.wait(_TICK_SECONDS, server.started.control.fileno() if server else -1):
                self._bury(server)
            try:
                while not self._closing.is_set() and self._tend():
                    pause = _FIRST_PAUSE_SECONDS
            except Exception as error:  # noqa: BLE001 - without this thread there would be no server again
                self.reason = str(error)
                self._count_failure()
                _log.warning("fork server %s: %s", self.preload.name, error)
                self._drop()
                self._closing.wait(pause)
                pause = min(2 * pause, _LAST_PAUSE_SECONDS)
                self._wake.set()

    def _bury(self, server: Server | None) -> None:
        """Let go of a server that ended by itself; one that ended young is not followed by another at once."""
        if server is not None and self._drop(server):
            self._count_failure()
            _log.warning("fork server %s ended by itself; another is started", self.preload.name)
            if time.monotonic() - server.born < _YOUNG_SECONDS:
                self._closing.wait(_FIRST_PAUSE_SECONDS)

    def _tend(self) -> bool:
        """Do one thing that is due; False when there is none. Raises SandboxError."""
        now = time.monotonic()
        with self._lock:
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

    def _replace(self, old: Server | None) -> None:
        new = self._start(self.preload)
        self._started += 1
        try:
            self._fill(new)
        except BaseException:
            self._retire(new)
            raise
        with self._lock:
            self._server = new
            self.reason = ""
            self._serve(new)
        if old is not None:
            self._retire(old)

    def _fill(self, server: Server) -> bool:
        """Make the children that are missing, all begun before the first is waited for."""
        with self._lock:
            missing = self._warm.depth - len(server.ready)
        begun: list[Waiting] = []
        try:
            begun.extend(self._begin(server) for _ in range(missing))
            for child in tuple(begun):
                self._staging.settle(child)
                begun.remove(child)
                with self._lock:
                    if not server.retired:
                        server.ready.append(child)
                        if server is self._server:
                            self._serve(server)
                        continue
                self._dispose(child.scope)
        finally:
            for child in begun:
                self._dispose(child.scope)
        return missing > 0

    def _begin(self, server: Server) -> Waiting:
        with contextlib.ExitStack() as scope:
            with self._lock:
                server.children += 1
            scope.callback(self._gone, server)
            near, far = socket.socketpair()
            scope.callback(near.close)

            def deliver(descriptors: Sequence[int]) -> None:
                wire.send_down(server.started.control, {"child": None}, [far.fileno(), *descriptors])

            with far:
                return self._staging.begin(
                    scope, near, deliver, server.started, server.uid, Launcher.WARM, server.namespaces
                )

    def _gone(self, server: Server) -> None:
        """A child is no more; fill the gap, or close a retired server with its last one."""
        with self._lock:
            server.children -= 1
            over = server.retired and server.children == 0
        if over:
            self._dispose(server.scope)
        self._wake.set()

    def _drop(self, which: Server | None = None) -> bool:
        """Let go of the server; with ``which``, only if it is that one and no newer. False if there is none."""
        with self._lock:
            server = self._server
            if server is None or which not in (None, server):
                return False
            self._server = None
            for line in (self._callers, self._patient):
                while line:
                    line.popleft().woken.set()
        self._retire(server)
        return True

    def _retire(self, server: Server) -> None:
        """Let its waiting children go; the server follows when no run needs it any more."""
        with self._lock:
            server.retired = True
            spare = list(server.ready)
            server.ready.clear()
            over = server.children == 0
        for child in spare:
            self._dispose(child.scope)
        if over:
            self._dispose(server.scope)
