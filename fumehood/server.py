"""The HTTP server: uvicorn in one process, told how to start and how to stop."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from fumehood.settings import Settings

_AFTER_CANCEL_SECONDS = 5
"""What a cancelled run and its answer may take before the connections are closed over them."""


class Server(uvicorn.Server):
    """Serves one application. ``announce`` is called with the address once it is bound."""

    def __init__(self, app: FastAPI, settings: Settings, announce: Callable[[str], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host.strip("[]"),
                port=settings.port,
                http="h11",
                ws="none",
                lifespan="on",
                log_config=None,  # fumehood.telemetry.logs is in charge
                access_log=False,  # and fumehood.telemetry.access tells more
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=math.ceil(settings.shutdown_grace_seconds) + _AFTER_CANCEL_SECONDS,
            )
        )
        self._executions = app.state.executions
        self._grace_seconds = settings.shutdown_grace_seconds
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Bind, then say so."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more calls; let what runs end within the grace, then cancel it, so that it still answers."""
        timer = asyncio.get_running_loop().call_later(self._grace_seconds, self._executions.cancel_all)
        await super().shutdown(sockets)
        timer.cancel()
