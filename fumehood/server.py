"""The HTTP server: uvicorn in one process, told how to start and how to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from fumehood.connections import protocol
from fumehood.settings import Settings

_AFTER_CANCEL_SECONDS = 5
"""What a cancelled run and its answer may take before the connections are closed over them."""
_ANSWER_SECONDS = 1.0


class Server(uvicorn.Server):
    """Serves one application. ``announce`` is called with the address once it is bound."""

    def __init__(self, app: FastAPI, settings: Settings, announce: Callable[[str], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host.strip("[]"),
                port=settings.port,
                http=protocol(settings.clients),
                loop="asyncio",
                ws="none",
                lifespan="on",
                log_config=None,  # fumehood.telemetry.logs is in charge
                access_log=False,  # and fumehood.telemetry.access tells more
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_AFTER_CANCEL_SECONDS,
            )
        )
        self._executions = app.state.executions
        self._grace_seconds = settings.shutdown_grace_seconds
        self._announce = announce
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Bind, then say so."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a second SIGINT waits for nothing."""
        super().handle_exit(sig, frame)
        if self.force_exit and self._loop is not None:
            self._loop.call_soon_threadsafe(self._executions.cancel_all)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse what is new, in words, while what was accepted ends; cancel what has not, so that it still answers.

        Runs have all of the grace but its last second, or last quarter: that is for their answers.
        """
        self._executions.stop()
        if not self.force_exit:
            await self._executions.settle(self._grace_seconds - min(_ANSWER_SECONDS, self._grace_seconds / 4))
        self._executions.cancel_all()
        await super().shutdown(sockets)
