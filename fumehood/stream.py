"""An answer that is sent in parts, as they come to be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.responses import Response

from fumehood import body

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

NDJSON = "application/x-ndjson"


def wants_lines(request: Request) -> bool:
    """Whether ``Accept`` names NDJSON."""
    for accepted in request.headers.get("accept", "").lower().split(","):
        media_type, *parameters = (part.strip() for part in accepted.split(";"))
        if media_type == NDJSON:
            return not any(parameter.replace(" ", "") in {"q=0", "q=0.0"} for parameter in parameters)
    return False


class Stream(Response):
    """Sends ``parts``. A caller who closes the connection is told to ``on_leaving``.

    ``close`` is awaited before the caller can know that it has all, and again, whatever happened, at the very end.
    A caller who reads slowly makes the parts come slowly: each is asked for when the one before is on its way.
    """

    def __init__(
        self,
        request: Request,
        parts: AsyncIterator[str],
        media_type: str,
        *,
        on_leaving: Callable[[], None],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__(media_type=media_type, headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._request = request
        self._parts = parts
        self._on_leaving = on_leaving
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - what ASGI passes
        """Send all of it."""
        try:
            async with body.watch_for_leaving(self._request, self._on_leaving):
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                async for part in self._parts:
                    await send({"type": "http.response.body", "body": part.encode(), "more_body": True})
                await self._close()
                await send({"type": "http.response.body", "body": b""})
        finally:
            await self._close()
