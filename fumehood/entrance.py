"""What a call that starts work passes before its body is read: are we open, and may this key start another run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fumehood import body

if TYPE_CHECKING:
    from starlette.requests import Request

    from fumehood.auth import Origin
    from fumehood.executions import Executions
    from fumehood.rates import Rates
    from fumehood.settings import Settings


class Entrance:
    """One for the application. Belongs to its event loop."""

    def __init__(self, settings: Settings, executions: Executions, rates: Rates) -> None:
        self._most_bytes = settings.body_bytes
        self._body_seconds = settings.clients.body_seconds
        self._executions = executions
        self._rates = rates

    async def read(self, request: Request) -> bytes:
        """The body of a call that starts something.

        Raises:
            Problem: 503 where nothing is started, 429 over the key's rate, 408, 413 or 415 for the body.
        """
        origin: Origin = request.state.origin
        self._executions.check_open()
        self._rates.take(origin.caller)
        return await body.read(request, self._most_bytes, self._body_seconds)

    def take_more(self, origin: Origin, count: int) -> None:
        """Count further runs of a call against the key's rate. Raises Problem 429."""
        self._rates.take(origin.caller, count)
