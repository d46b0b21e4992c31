"""``Idempotency-Key``: a call that comes again is answered again, and never run again.

As draft-ietf-httpapi-idempotency-key-header has it. The place of a key is taken in the database before anything runs,
so that neither a restart nor another instance of the service runs the call a second time; its answer is there before
the caller has it. A call with a key is not cancelled by its connection's end: whoever sends a key means to ask again.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import logging
import math
import re
from typing import TYPE_CHECKING

from starlette.responses import Response

from fumehood.problems import MEDIA_TYPE, Kind, Problem, at_field
from fumehood.store import idempotency as stored
from fumehood.store.database import DatabaseError
from fumehood.store.idempotency import Answer, Bounds, Met, Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from fumehood.settings import Settings
    from fumehood.store.database import Database

_log = logging.getLogger("fumehood.idempotency")

HEADER = "idempotency-key"
# A structured field string, or the bare word that many clients send.
_QUOTED = re.compile(r'"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"')
_BARE = re.compile(r"[\x21\x23-\x7e]{1,255}")
_NOT_RUN = frozenset({Kind.QUEUE_FULL, Kind.RECORDS_BEHIND})
_OK = 200
_RETRY_SECONDS = 1
_MOST_WAIT_SECONDS = 86_400


class Claim:
    """The place of one call's key, ours until it is answered or released."""

    def __init__(self, calls: IdempotentCalls, place: Place) -> None:
        self._calls = calls
        self._place = place

    @contextlib.asynccontextmanager
    async def accepting(self) -> AsyncIterator[None]:
        """Around all that may refuse the call before anything runs: then the place is free again."""
        try:
            yield
        except Exception:
            await self._calls.release(self._place)
            raise

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Around what runs: a problem is kept as the answer, but for those that say that nothing was run after all."""
        try:
            yield
        except Problem as problem:
            if problem.kind in _NOT_RUN:
                await self._calls.release(self._place)
            else:
                await self.answer(problem.status, MEDIA_TYPE, problem.body())
            raise
        except Exception:
            unknown = Problem(Kind.INTERNAL_ERROR, "the service's log has the reason")
            await self.answer(unknown.status, MEDIA_TYPE, unknown.body())
            raise

    async def keep(self, parts: AsyncIterator[str], media_type: str) -> AsyncIterator[str]:
        """The same parts; what they were together is kept before whoever takes them knows that he has all."""
        kept: list[bytes] | None = []
        size = 0
        async for part in parts:
            yield part
            size += len(part)
            if kept is not None:
                kept.append(part.encode())
                kept = kept if size <= self._calls.most_bytes else None
        if kept is None:
            large = Problem(
                Kind.CALL_LOST, "it was too large to be kept, and the call is not made again under this key"
            )
            await self.answer(large.status, MEDIA_TYPE, large.body())
        else:
            await self.answer(_OK, media_type, b"".join(kept))

    async def answer(self, http_status: int, media_type: str, body: bytes) -> None:
        """Keep the answer, before it is sent. Where it cannot be kept, a further call still runs nothing."""
        await self._calls.keep(self._place, Answer(http_status, media_type, body))


class IdempotentCalls:
    """Every call with a key. Belongs to one event loop."""

    def __init__(self, settings: Settings, database: Database, instance: str) -> None:
        self._database = database
        self._instance = instance
        self._seconds = settings.idempotency.seconds
        self.most_bytes = settings.idempotency.bytes
        self._bounds = Bounds(settings.idempotency.calls, settings.idempotency.bytes)

    async def claim(self, request: Request, text: bytes) -> Claim | Response | None:
        """Take the place of the request's key: a claim, or the answer that was given before; None without a key.

        Raises:
            Problem: 409 where the call is under way or was lost, 422 for a key that came with another request, 429
                where too much is kept, 503 where the database cannot be asked.
        """
        values = request.headers.getlist(HEADER)
        if not values:
            return None
        place = Place(request.state.origin.caller.name, _key_in(values))
        fingerprint = hashlib.sha256(request.url.path.encode() + b"\0" + text).hexdigest()
        now = dt.datetime.now(dt.UTC)
        try:
            found = await self._database.aside(
                lambda: stored.take(
                    self._database,
                    place,
                    fingerprint,
                    self._instance,
                    bounds=self._bounds,
                    now=now,
                    expires_at=now + dt.timedelta(seconds=self._seconds),
                )
            )
        except DatabaseError as error:
            # Running it without its key being noted could run it twice.
            _log.error("a call with an Idempotency-Key is refused: %s", error)
            raise Problem(
                Kind.RECORDS_BEHIND, "the key cannot be noted now", headers={"Retry-After": str(_RETRY_SECONDS)}
            ) from error
        if found.met is Met.NOTHING:
            return Claim(self, place)
        if found.answer is not None:
            headers = {"Idempotency-Replayed": "true"}
            return Response(found.answer.body, found.answer.http_status, headers, found.answer.media_type)
        raise _problem(found, now)

    async def keep(self, place: Place, told: Answer) -> None:
        """Keep an answer; log where that fails."""
        try:
            await self._database.aside(lambda: stored.answer(self._database, place, self._instance, told))
        except DatabaseError as error:
            _log.error("the answer under an Idempotency-Key could not be kept: %s", error)

    async def release(self, place: Place) -> None:
        """Give a place back; log where that fails."""
        try:
            await self._database.aside(lambda: stored.release(self._database, place, self._instance))
        except DatabaseError as error:
            _log.error("an Idempotency-Key could not be given back: %s", error)


def _key_in(values: list[str]) -> str:
    """The key in the header. Raises Problem 422 for what is none."""
    value = values[0].strip()
    quoted = _QUOTED.fullmatch(value)
    if len(values) == 1 and quoted:
        return re.sub(r"\\(.)", r"\1", quoted[1])
    if len(values) == 1 and _BARE.fullmatch(value):
        return value
    raise at_field(Kind.INVALID_REQUEST, "Idempotency-Key", "one string of 1 to 255 printable characters is needed")


def _problem(found: stored.Found, now: dt.datetime) -> Problem:
    match found.met:
        case Met.OTHER:
            return at_field(Kind.KEY_REUSED, "Idempotency-Key", "another path or body came with it; use a new key")
        case Met.UNDER_WAY:
            headers = {"Retry-After": str(_RETRY_SECONDS)}
            return Problem(Kind.CALL_UNDER_WAY, "its answer will be there under the same key", headers=headers)
        case Met.LOST:
            return Problem(
                Kind.CALL_LOST,
                "the service ended before it could answer. How far the call came is not known, and it is not run again "
                "under this key",
            )
        case _:
            wait = (found.room_at - now).total_seconds() if found.room_at else 1.0
            headers = {"Retry-After": str(min(max(math.ceil(wait), 1), _MOST_WAIT_SECONDS))}
            return Problem(Kind.TOO_MANY_KEPT, "wait until some have expired", headers=headers)
