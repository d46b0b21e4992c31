"""One client's connection: HTTP/1.1 as uvicorn speaks it, with an end to our patience.

Three clients hold what they were given for ever, if they are let: one that sends its head a byte at a time, one that
does not read what it is sent, and one whose machine is gone without a word. The first has a deadline, the second too,
and the kernel finds out about the third, so that its run is cancelled and not finished for nobody.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from fumehood.problems import MEDIA_TYPE, Kind, Problem

if TYPE_CHECKING:
    import asyncio

    from fumehood.operating import Clients

_PROBE_AFTER_SECONDS = 30
_PROBE_EVERY_SECONDS = 10
_PROBES = 3


def protocol(clients: Clients) -> type[H11Protocol]:
    """The protocol with these deadlines, for uvicorn to make one of for each connection."""

    class Patient(_Patient):
        deadlines = clients

    return Patient


class _Patient(H11Protocol):
    deadlines: Clients

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*args, **kwargs)
        self._head: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._touched = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _let_the_kernel_watch(transport.get_extra_info("socket"), self.deadlines.read_seconds)
        self._expect_a_head()

    def data_received(self, data: bytes) -> None:
        self._touched = True
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._expect_a_head()
        else:
            self._forget_head()

    def on_response_complete(self) -> None:
        self._touched = False  # what comes now belongs to another head
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(self.deadlines.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _expect_a_head(self) -> None:
        """From the first byte of it, or from the connection's beginning, whatever else comes."""
        if self._head is None:
            self._head = self.loop.call_later(self.deadlines.header_seconds, self._give_up)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _give_up(self) -> None:
        self._head = None
        if self.transport.is_closing() or not (self.cycle is None or self.cycle.response_complete):
            return
        if self._touched and self.conn.our_state is h11.IDLE:
            problem = Problem(
                Kind.REQUEST_TIMEOUT, f"the head was not there after {self.deadlines.header_seconds:g} seconds"
            )
            body = problem.body()
            headers = [
                ("content-type", MEDIA_TYPE),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            head = h11.Response(status_code=problem.status, headers=headers, reason=b"Request Timeout")
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _let_the_kernel_watch(connection: socket.socket | None, read_seconds: float) -> None:
    """Have a peer that is gone found out, while nothing is sent (probes) and while something is (a time-out)."""
    if connection is None or connection.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, _PROBE_AFTER_SECONDS),
        (socket.TCP_KEEPINTVL, _PROBE_EVERY_SECONDS),
        (socket.TCP_KEEPCNT, _PROBES),
        (socket.TCP_USER_TIMEOUT, round(read_seconds * 1000)),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
