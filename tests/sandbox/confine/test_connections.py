from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

import pytest

from sandbox.confine.connections import HELD_BYTES, unaccepted_bytes

CONNECTIONS = 40
MOST_BYTES = 30 * HELD_BYTES


@pytest.fixture(params=[socket.AF_INET, socket.AF_INET6])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    """Give a listener to which many have connected and said something; nobody was accepted, half have left."""
    with contextlib.ExitStack() as scope:
        made = scope.enter_context(socket.socket(request.param))
        made.bind(("localhost" if request.param == socket.AF_INET else "::1", 0))
        made.listen(CONNECTIONS)
        for number in range(CONNECTIONS):
            near = scope.enter_context(socket.socket(request.param))
            near.connect(made.getsockname())
            near.send(b"x")
            if number % 2:
                near.close()
        yield made


def test_what_waits_is_counted_until_it_is_too_much(listener: socket.socket) -> None:
    """Each may fill its buffer; one more than may wait is enough to know."""
    assert unaccepted_bytes(os.getpid(), MOST_BYTES) == MOST_BYTES + HELD_BYTES
    assert listener.fileno() > 0


def test_what_is_accepted_is_not_counted(listener: socket.socket) -> None:
    """From then on the control group of whoever accepted pays."""
    with contextlib.ExitStack() as scope:
        for _ in range(CONNECTIONS):
            scope.enter_context(listener.accept()[0])
        assert unaccepted_bytes(os.getpid(), MOST_BYTES) < MOST_BYTES


def test_few_sockets_are_not_looked_at(listener: socket.socket) -> None:
    """Where even all of them could not hold too much, the tables are not read."""
    assert unaccepted_bytes(os.getpid(), 1 << 50) == 0
    assert listener.fileno() > 0


def test_a_process_that_is_gone_holds_nothing() -> None:
    """It may end while it is looked at."""
    assert unaccepted_bytes(1 << 22, 0) == 0
