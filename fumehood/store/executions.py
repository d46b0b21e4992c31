"""Records of runs in the database: written in batches, read in pages."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, and_, bindparam, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from fumehood.store.tables import executions, idempotent_calls, instances

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fumehood.store.database import Database

RUNNING = "running"
LOST = "lost"
_COLUMNS = frozenset(column.name for column in executions.columns) - {"seq"}
_ENDING = (
    *("finished_at", "status", "problem", "launcher", "runtime", "exit_code", "signal"),
    *("stdout_bytes", "stderr_bytes", "usage", "limits_hit"),
)
_CHUNK = 1000
_PAGES_FREED = 1000
# Written twice, as after a crash between the database's commit and the journal's, a record stays one.
_INSERT = {
    "sqlite": sqlite.insert(executions).on_conflict_do_nothing(index_elements=["record_id"]),
    "postgresql": postgresql.insert(executions).on_conflict_do_nothing(index_elements=["record_id"]),
}
# An instance that was taken for dead and was not has the last word on its runs.
_UPDATE = (
    update(executions)
    .where(
        executions.c.record_id == bindparam("b_record_id"),
        or_(executions.c.status == RUNNING, executions.c.status == LOST),
    )
    .values({name: bindparam(f"b_{name}") for name in _ENDING})
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records: all that match everything named. ``since`` is included, ``until`` is not."""

    key_id: str | None = None
    run_id: str | None = None
    batch_id: str | None = None
    statuses: tuple[str, ...] = ()
    since: dt.datetime | None = None
    until: dt.datetime | None = None


def write(database: Database, begun: Sequence[dict[str, Any]], ended: Sequence[dict[str, Any]]) -> None:
    """Write runs that were accepted (every column but ``seq``) and endings of runs that are on record.

    Raises:
        DatabaseError: then none of it is written.
    """
    with database.write() as connection:
        if begun:
            connection.execute(_INSERT[database.kind], [{name: row.get(name) for name in _COLUMNS} for row in begun])
        if ended:
            connection.execute(
                _UPDATE,
                [{"b_record_id": row["record_id"]} | {f"b_{name}": row.get(name) for name in _ENDING} for row in ended],
            )


def note_instance(database: Database, instance: str, now: dt.datetime) -> None:
    """Say that this instance lives. Raises DatabaseError."""
    with database.write() as connection:
        seen = connection.execute(update(instances).where(instances.c.id == instance).values(seen_at=now))
        if not seen.rowcount:
            connection.execute(instances.insert().values(id=instance, started_at=now, seen_at=now))


def quiet_instances(database: Database, before: dt.datetime) -> tuple[str, ...]:
    """The instances that have said nothing since ``before``. Raises DatabaseError."""
    with database.read() as connection:
        return tuple(connection.scalars(select(instances.c.id).where(instances.c.seen_at < before)))


def bury(database: Database, instance: str, now: dt.datetime) -> int:
    """Let an instance be dead: what it had under way is lost. Gives how many runs. Raises DatabaseError."""
    with database.write() as connection:
        lost = connection.execute(
            update(executions)
            .where(executions.c.instance == instance, executions.c.status == RUNNING)
            .values(status=LOST, finished_at=now)
        )
        connection.execute(delete(instances).where(instances.c.id == instance))
        return lost.rowcount


def page(database: Database, wanted: Filter, *, before: int | None, limit: int) -> list[Mapping[Any, Any]]:
    """The newest records that match and are older than the sequence number ``before``. Raises DatabaseError."""
    query = _matching(wanted).order_by(executions.c.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(executions.c.seq < before)
    with database.read() as connection:
        return list(connection.execute(query).mappings())


def oldest_first(database: Database, wanted: Filter, *, limit: int | None = None) -> Iterator[Mapping[Any, Any]]:
    """Every record that matches, read in chunks, so that an export neither fills memory nor holds a lock."""
    after, left = 0, limit
    while left is None or left > 0:
        size = _CHUNK if left is None else min(left, _CHUNK)
        query = _matching(wanted).where(executions.c.seq > after).order_by(executions.c.seq).limit(size)
        with database.read() as connection:
            rows = list(connection.execute(query).mappings())
        yield from rows
        if len(rows) < size:
            return
        after = rows[-1]["seq"]
        left = None if left is None else left - size


def prune(database: Database, *, before: dt.datetime | None, now: dt.datetime) -> int:
    """Forget runs that were accepted before, and answers that have expired; gives how many. Raises DatabaseError."""
    gone = 0
    if before is not None:
        over = and_(executions.c.accepted_at < before, executions.c.status != RUNNING)
        while count := _delete_some(database, select(executions.c.seq).where(over)):
            gone += count
    with database.write() as connection:
        gone += connection.execute(delete(idempotent_calls).where(idempotent_calls.c.expires_at <= now)).rowcount
    if gone:
        database.shrink(_PAGES_FREED)
    return gone


def _delete_some(database: Database, doomed: Select[tuple[int]]) -> int:
    """A chunk in a transaction of its own: what is written meanwhile waits for one chunk at most."""
    with database.write() as connection:
        return connection.execute(
            delete(executions).where(executions.c.seq.in_(doomed.limit(_CHUNK).scalar_subquery()))
        ).rowcount


def _matching(wanted: Filter) -> Select[Any]:
    query = select(executions)
    for column, value in (
        (executions.c.key_id, wanted.key_id),
        (executions.c.run_id, wanted.run_id),
        (executions.c.batch_id, wanted.batch_id),
    ):
        if value is not None:
            query = query.where(column == value)
    if wanted.statuses:
        query = query.where(executions.c.status.in_(wanted.statuses))
    if wanted.since is not None:
        query = query.where(executions.c.accepted_at >= wanted.since)
    if wanted.until is not None:
        query = query.where(executions.c.accepted_at < wanted.until)
    return query
