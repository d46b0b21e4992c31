"""The key ring kept up to date while the service runs: keys are made and revoked by another program."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING

from fumehood.auth import KeyRing, UnknownKeyError
from fumehood.store import keys as stored
from fumehood.store.database import DatabaseError

if TYPE_CHECKING:
    from fumehood.auth import Caller
    from fumehood.settings import Settings
    from fumehood.store.database import Database

_log = logging.getLogger("fumehood.keys")

_LEAST_SECONDS = 1.0
"""Keys that are not known make us look anew, but no more often than this: whoever sends them needs no key."""


class KeyHolder:
    """The ring and the database behind it. Belongs to one event loop."""

    def __init__(self, settings: Settings, database: Database) -> None:
        """Read every key once. Raises DatabaseError."""
        self.ring = KeyRing((key.get_secret_value() for key in settings.api_key), required=settings.require_key)
        self._database = database
        self._every_seconds = settings.key_refresh_seconds
        self._looking: asyncio.Task[None] | None = None
        self._looked = time.monotonic()
        self._failing = False
        self.ring.replace(stored.every(database))

    async def caller(self, presented: bytes | None) -> Caller:
        """Who presents this; a key that was made a moment ago is known too. Raises UnknownKeyError."""
        try:
            return self.ring.caller(presented)
        except UnknownKeyError as unknown:
            if not presented or unknown.known or time.monotonic() - self._looked < _LEAST_SECONDS:
                raise
        await self._look()
        return self.ring.caller(presented)

    async def keep_fresh(self) -> None:
        """Look for keys that were made or revoked, again and again, until the task is ended."""
        while True:
            await asyncio.sleep(self._every_seconds)
            await self._look()

    async def _look(self) -> None:
        """Look once, however many ask for it at the same time."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._read())
        with contextlib.suppress(DatabaseError):
            await asyncio.shield(self._looking)

    async def _read(self) -> None:
        self._looked = time.monotonic()
        try:
            self.ring.replace(await self._database.aside(lambda: stored.every(self._database)))
        except DatabaseError as error:
            if not self._failing:  # once, not every two seconds
                _log.error("the keys could not be read anew, and those known stay valid: %s", error)
            self._failing = True
            return
        if self._failing:
            _log.info("the keys could be read again")
        self._failing = False
