"""The outermost layer of HTTP: a request has its id from here on, and is told when it is over."""

from __future__ import annotations

import logging
import re
import time
import uuid
from http import HTTPStatus
from typing import TYPE_CHECKING

from fumehood.telemetry import logs, tracing

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fumehood.telemetry.telemetry import Telemetry

_log = logging.getLogger("fumehood.access")

_REQUEST_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_LONGEST_PATH = 200
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""What machines ask every few seconds: told only when it goes wrong."""


class Access:
    """ASGI middleware. It leaves ``request_id`` in the scope's state, and reads ``caller`` and ``problem`` there."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry, *, log: bool) -> None:
        self._app = app
        self._telemetry = telemetry
        self._logged = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        started = time.monotonic()
        code: int | None = None

        async def note(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)

        with logs.bound(request_id=request_id), self._telemetry.metrics.in_progress.track_inprogress():
            tracing.note({"fumehood.request.id": request_id})
            try:
                await self._app(scope, receive, note)
            finally:
                self._tell(scope, code, time.monotonic() - started)

    def _tell(self, scope: Scope, code: int | None, seconds: float) -> None:
        state = scope["state"]
        route = getattr(scope.get("route"), "path", None)
        problem = state.get("problem")
        self._telemetry.metrics.answered(scope["method"], route, code, seconds)
        if problem is not None:
            self._telemetry.metrics.problem(problem)
        if not self._logged:
            return
        failed = code is not None and code >= HTTPStatus.INTERNAL_SERVER_ERROR
        told = {
            "method": scope["method"],
            # As it was sent, so escapes and all; without what follows '?', which may hold anything.
            "path": scope.get("raw_path", b"").decode("latin-1")[:_LONGEST_PATH],
            "route": route,
            "status": code,
            "seconds": round(seconds, 6),
            "client": scope["client"][0] if scope.get("client") else None,
            "caller": state.get("caller"),
            "problem": problem,
        }
        level = logging.WARNING if failed else logging.DEBUG if scope["path"] in _PROBES else logging.INFO
        _log.log(level, "request", extra={name: value for name, value in told.items() if value is not None})


def _request_id(scope: Scope) -> str:
    """The caller's X-Request-ID where it is harmless in a header and a log, else a new one."""
    given = dict(scope["headers"]).get(b"x-request-id", b"")
    return given.decode() if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
