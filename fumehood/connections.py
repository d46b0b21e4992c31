"""One client's connection: HTTP/1.1 as uvicorn speaks it, with an end to our patience.

Four clients hold what they were given for ever, if they are let: one that sends its head a byte at a time, one whose
head, or what follows its body in chunks, has no end, one that does not read what it is sent, and one whose machine is
gone without a word. The first and the third have a deadline, the second has a bound, and the kernel finds out about the
fourth, so that its run is cancelled and not finished for nobody.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fumehood.problems import MEDIA_TYPE, Kind, Problem

if TYPE_CHECKING:
    import asyncio

    from fumehood.operating import Clients

_PROBE_AFTER_SECONDS = 30
_PROBE_EVERY_SECONDS = 10
_PROBES = 3
_HEAD_BYTES = 1 << 16
_LONGEST_DETAIL = 200
_OFFERS = frozenset({b"connection", b"upgrade", b"http2-settings"})


def protocol(clients: Clients) -> type[HttpToolsProtocol]:
    """The protocol with these deadlines, for uvicorn to make one of for each connection."""

    class Patient(_Patient):
        deadlines = clients

    return Patient


class _Patient(HttpToolsProtocol):
    deadlines: Clients

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(*args, **kwargs)
        self._head: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._in_head = False
        self._completed = False
        """Whether the piece that is parsed began or completed something, or was of a body."""
        self._kept_bytes = 0
        """Since the last piece that did: of a head, or of what follows a body in chunks, which the parser keeps."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _let_the_kernel_watch(transport.get_extra_info("socket"), self.deadlines.read_seconds)
        self._expect_a_head()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._completed = False
        try:
            self._feed(data)
        except httptools.HttpParserError as error:
            self._refuse(Problem(Kind.MALFORMED, str(error)[:_LONGEST_DETAIL]))
            return
        self._kept_bytes = 0 if self._completed else self._kept_bytes + len(data)
        if self._kept_bytes > _HEAD_BYTES:
            self._refuse(Problem(Kind.HEAD_TOO_LARGE, f"a head may have {_HEAD_BYTES} bytes"))
        elif self.cycle is None or self.cycle.response_complete:
            self._expect_a_head()
        else:
            self._forget_head()

    def _feed(self, data: bytes) -> None:
        """Parse, and take an offer of another protocol for none (RFC 9110, 7.8): no other is spoken here.

        The parser leaves what follows such a head alone, body included, so another goes on from a head without the
        offer. Java's client makes one with its first request. Raises httptools.HttpParserError.
        """
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self.parser.get_method() == b"CONNECT":
                raise httptools.HttpParserError("CONNECT is not served") from None
            lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
            lines += [b"%s: %s" % header for header in self.headers if header[0] not in _OFFERS]
            self.parser = httptools.HttpRequestParser(self)
            self._feed(b"\r\n".join([*lines, b"", b""]) + data[upgrade.args[0] :])

    def on_message_begin(self) -> None:
        self._in_head = self._completed = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._completed = True
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # what follows a body says nothing to us
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._completed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._completed = True
        if not self.parser.should_upgrade():
            super().on_message_complete()

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
        if self._in_head:
            detail = f"the head was not there after {self.deadlines.header_seconds:g} seconds"
            self._refuse(Problem(Kind.REQUEST_TIMEOUT, detail))
        self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        """Answer, while no request of this connection is being answered, and close."""
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            body = problem.body()
            head = b"content-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[problem.status] + head % (MEDIA_TYPE.encode(), len(body)) + body)
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
