"""The children that wait in one fork server, and who gets them; with a server and children that are not there."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.config import Preload, WarmConfig
from sandbox.errors import SetupError
from sandbox.nest import Nest, Server


class Staging:
    """Brings a child to where it waits when the test lets it."""

    def __init__(self) -> None:
        self.allowed = threading.Semaphore(0)
        self.made = 0

    def begin(self, scope: contextlib.ExitStack, *_: Any) -> Any:
        """Give a child with a number."""
        self.made += 1
        return SimpleNamespace(number=self.made, scope=scope.pop_all())

    def settle(self, _: Any) -> None:
        """Take as long as the test wants."""
        assert self.allowed.acquire(timeout=20)


@pytest.fixture
def staging() -> Staging:
    """Give children nobody has let through yet."""
    return Staging()


@pytest.fixture
def far_ends() -> list[socket.socket]:
    """Give the servers' own ends of their sockets."""
    return []


@pytest.fixture
def nest(staging: Staging, far_ends: list[socket.socket]) -> Iterator[Nest]:
    """Give a nest of one child, whose servers are sockets."""

    def start(_: Preload) -> Server:
        near, far = socket.socketpair()
        far_ends.append(far)
        scope = contextlib.ExitStack()
        scope.callback(near.close)
        started = SimpleNamespace(pid=len(far_ends), control=near, complaint=str)
        return Server(started, {}, frozenset({"json"}), None, scope, time.monotonic())  # type: ignore[arg-type]

    def dispose(scope: contextlib.ExitStack) -> None:
        scope.close()

    made = Nest(Preload("bare", ()), WarmConfig(depth=1), start, staging, dispose)  # type: ignore[arg-type]
    yield made
    for _ in range(100):
        staging.allowed.release()
    made.close()
    for each in far_ends:
        each.close()


def until(holds: Callable[[], bool]) -> None:
    """Wait for it, within reason."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_callers_are_served_in_the_order_in_which_they_came(nest: Nest, staging: Staging) -> None:
    """However many wait, and whoever's thread the system would rather run."""
    staging.allowed.release()
    until(lambda: nest.state()["waiting"] == 1)
    first = nest.lend()
    assert first is not None
    served: list[int] = []

    def call(number: int) -> None:
        lent = nest.lend()
        assert lent is not None
        served.append(number)
        lent.child.scope.close()

    callers = []
    for number in range(12):
        callers.append(threading.Thread(target=call, args=(number,)))
        callers[-1].start()
        until(lambda: len(nest._callers) == len(callers))
    first.child.scope.close()
    for number in range(12):
        staging.allowed.release()
        until(lambda: len(served) > number)  # noqa: B023 - called before the next turn
    for each in callers:
        each.join()
    assert served == list(range(12))


def test_a_server_that_has_imported_what_a_job_brings_itself_lends_nothing(nest: Nest, staging: Staging) -> None:
    """A file of the job would be passed over; with other files its child is as good as any."""
    staging.allowed.release()
    until(lambda: nest.state()["waiting"] == 1)
    assert nest.lend(frozenset({"json", "other"})) is None
    lent = nest.lend(frozenset({"other"}))
    assert lent is not None
    lent.child.scope.close()


def test_who_waits_is_told_when_the_server_is_gone(nest: Nest, staging: Staging) -> None:
    """The run is cold then, at once; and another server comes up."""
    staging.allowed.release()
    until(lambda: nest.state()["waiting"] == 1)
    lent = nest.lend()
    assert lent is not None
    answers: list[object] = []
    caller = threading.Thread(target=lambda: answers.append(nest.lend()))
    caller.start()
    until(lambda: len(nest._callers) == 1)
    lent.doubt()
    caller.join(10)
    assert answers == [None]
    lent.child.scope.close()
    for _ in range(3):
        staging.allowed.release()
    until(lambda: nest.state()["pid"] == 2)


def test_who_is_patient_leaves_half_to_the_others_and_waits_behind_them(nest: Nest, staging: Staging) -> None:
    """A crowd that uses up children as fast as they are made does not take them from one who comes now and then."""
    nest._warm = dataclasses.replace(nest._warm, depth=4)
    nest._kept = 2
    for _ in range(4):
        staging.allowed.release()
    until(lambda: nest.state()["waiting"] == 4)
    served: list[str] = []
    over: list[contextlib.ExitStack] = []

    def call(name: str) -> threading.Thread:
        def wait() -> None:
            lent = nest.lend(patient=name == "patient")
            assert lent is not None
            served.append(name)
            over.append(lent.child.scope)

        caller = threading.Thread(target=wait)
        caller.start()
        return caller

    callers = [call("patient") for _ in range(4)]
    until(lambda: len(served) == 2)
    until(lambda: len(nest._patient) == 2)
    for _ in range(3):
        callers.append(call("other"))
        callers[-1].join(0.2)
    assert served == ["patient"] * 2 + ["other"] * 2
    staging.allowed.release()
    until(lambda: len(served) == 5)
    for _ in range(40):
        staging.allowed.release()
    for each in callers:
        each.join(10)
    assert served == ["patient"] * 2 + ["other"] * 3 + ["patient"] * 2
    for scope in over:
        scope.close()


def test_a_server_that_ends_is_missed_at_once(nest: Nest, staging: Staging, far_ends: list[socket.socket]) -> None:
    """By the end of its socket, before anybody asks for a child."""
    staging.allowed.release()
    until(lambda: nest.state()["waiting"] == 1)
    staging.allowed.release()
    far_ends[0].close()
    until(lambda: nest.state()["pid"] == 2)
    assert nest.state()["started"] == 2


def test_who_waits_too_long_gets_none(nest: Nest, staging: Staging, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves no trace in the queue."""
    monkeypatch.setattr("sandbox.nest._PATIENCE_SECONDS", 0.05)
    staging.allowed.release()
    until(lambda: nest.state()["waiting"] == 1)
    lent = nest.lend()
    assert lent is not None
    assert nest.lend() is None
    assert not nest._callers
    lent.child.scope.close()


def test_a_server_that_does_not_come_up_says_why(staging: Staging) -> None:
    """And is asked for again after a pause that grows."""
    asked: list[float] = []

    def start(_: Preload) -> Server:
        asked.append(time.monotonic())
        raise SetupError("fork server", 0, "no room")

    made = Nest(Preload("bare", ()), WarmConfig(depth=1), start, staging, lambda scope: scope.close())  # type: ignore[arg-type]
    try:
        until(lambda: len(asked) == 2)
        assert made.lend() is None
        assert "no room" in made.state()["reason"]
        assert asked[1] - asked[0] >= 0.4
    finally:
        made.close()
