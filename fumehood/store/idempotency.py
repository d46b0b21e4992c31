"""Calls that came with an Idempotency-Key: taken before they are run, answered once, kept for a time."""

from __future__ import annotations

import datetime as dt
import zlib
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from fumehood.store.tables import idempotent_calls as calls
from fumehood.store.tables import instances

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from fumehood.store.database import Database

_LEVEL = 1
"""Of compression: an answer is mostly text or base64, and its caller waits."""
# What comes back says whether the row is ours: the number of rows is not told alike by every driver.
_INSERT = {
    "sqlite": sqlite.insert(calls).on_conflict_do_nothing().returning(calls.c.key_id),
    "postgresql": postgresql.insert(calls).on_conflict_do_nothing().returning(calls.c.key_id),
}


class Met(Enum):
    """What a call finds in the place of its key."""

    NOTHING = "nothing: the place is taken now, and the call is to be made"
    ANSWER = "the answer to the same call"
    OTHER = "another call"
    UNDER_WAY = "the same call, under way"
    LOST = "the same call, under way in an instance that lives no more"
    FULL = "no room for another"


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered."""

    http_status: int
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Found:
    """What a call met, the answer where there is one, and when there may be room where there is none."""

    met: Met
    answer: Answer | None = None
    room_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Whose call, and under which key of his."""

    key_id: str
    idempotency_key: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one API key may have kept: calls, and bytes of their answers."""

    calls: int
    bytes: int


def take(
    database: Database,
    place: Place,
    fingerprint: str,
    instance: str,
    *,
    bounds: Bounds,
    now: dt.datetime,
    expires_at: dt.datetime,
) -> Found:
    """Take the place, or say what is in it. Of many that try at once, one takes it.

    Raises:
        DatabaseError: then nothing was taken.
    """
    with database.write() as connection:
        connection.execute(delete(calls).where(_at(place), calls.c.expires_at <= now))
        taken = connection.execute(
            _INSERT[database.kind],
            {
                "key_id": place.key_id,
                "idempotency_key": place.idempotency_key,
                "fingerprint": fingerprint,
                "instance": instance,
                "created_at": now,
                "expires_at": expires_at,
                "body_bytes": 0,
            },
        )
        if taken.first() is None:
            return _what_is_there(connection, place, fingerprint)
        room_at = _room_at(connection, place.key_id, bounds, now)
        if room_at is None:
            return Found(Met.NOTHING)
        connection.execute(delete(calls).where(_at(place)))
        return Found(Met.FULL, room_at=room_at)


def answer(database: Database, place: Place, instance: str, told: Answer) -> None:
    """Keep the answer. Raises DatabaseError."""
    body = zlib.compress(told.body, _LEVEL)
    with database.write() as connection:
        connection.execute(
            update(calls)
            .where(_at(place), calls.c.instance == instance)
            .values(http_status=told.http_status, media_type=told.media_type, body=body, body_bytes=len(body))
        )


def release(database: Database, place: Place, instance: str) -> None:
    """Give the place back: the call was refused and nothing was run. Raises DatabaseError."""
    with database.write() as connection:
        connection.execute(delete(calls).where(_at(place), calls.c.instance == instance, calls.c.http_status.is_(None)))


def _what_is_there(connection: Connection, place: Place, fingerprint: str) -> Found:
    row = connection.execute(select(calls).where(_at(place))).mappings().one()
    if row["fingerprint"] != fingerprint:
        return Found(Met.OTHER)
    if row["http_status"] is not None:
        return Found(Met.ANSWER, Answer(row["http_status"], row["media_type"], zlib.decompress(row["body"])))
    alive = connection.execute(select(instances.c.id).where(instances.c.id == row["instance"])).first()
    return Found(Met.UNDER_WAY if alive else Met.LOST)


def _room_at(connection: Connection, key_id: str, bounds: Bounds, now: dt.datetime) -> dt.datetime | None:
    """None where there is room; else when the first of what is kept goes."""
    kept = and_(calls.c.key_id == key_id, calls.c.expires_at > now)
    count, size, first = connection.execute(
        select(func.count(), func.coalesce(func.sum(calls.c.body_bytes), 0), func.min(calls.c.expires_at)).where(kept)
    ).one()
    return first if count > bounds.calls or size >= bounds.bytes else None


def _at(place: Place) -> ColumnElement[bool]:
    return and_(calls.c.key_id == place.key_id, calls.c.idempotency_key == place.idempotency_key)
