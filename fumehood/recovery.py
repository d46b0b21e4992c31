"""After a kill: what dead instances of the service left is taken up; what they had under way is recorded as lost."""

from __future__ import annotations

import datetime as dt
import logging
from typing import TYPE_CHECKING, Any

from fumehood import journal
from fumehood.store import executions as stored

if TYPE_CHECKING:
    from pathlib import Path

    from fumehood.store.database import Database

_log = logging.getLogger("fumehood.audit")

_DEAD_SECONDS = 120.0
"""An instance on another machine that said nothing for so long is taken for dead."""


def recover(database: Database) -> int:
    """Take up what instances left that live no more; gives how many runs were lost with them.

    Those with a journal here are known to be dead by its lock, at once; others by their silence.

    Raises:
        DatabaseError: then all that is left is left for the next time.
    """
    lost = 0
    folder = journal_folder(database)
    if folder is not None:
        for left in journal.abandoned(folder):
            try:
                lost += _take_up(database, left)
                left.remove()
            finally:
                left.release()
    living = journal.living(folder) if folder is not None else frozenset()
    now = dt.datetime.now(dt.UTC)
    for instance in stored.quiet_instances(database, now - dt.timedelta(seconds=_DEAD_SECONDS)):
        if instance not in living:
            lost += stored.bury(database, instance, now)
    if lost:
        _log.warning("%d runs were under way in an instance that was killed; they are on record as lost", lost)
    return lost


def journal_folder(database: Database) -> Path | None:
    """Where instances that use this database on this machine keep their journals."""
    return database.folder / "journal" if database.folder is not None else None


def dated(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose times are seconds, as journals have them, with times as the database takes them."""
    return {
        name: dt.datetime.fromtimestamp(value, dt.UTC) if name.endswith("_at") and value is not None else value
        for name, value in row.items()
    }


def _take_up(database: Database, left: journal.Abandoned) -> int:
    begun: dict[str, dict[str, Any]] = {}
    ended: dict[str, dict[str, Any]] = {}
    for entry in left.entries():
        if "accepted" in entry:
            begun[entry["accepted"]["record_id"]] = dated(entry["accepted"])
        else:
            ended[entry["ended"]["record_id"]] = dated(entry["ended"])
    stored.write(database, list(begun.values()), list(ended.values()))
    return stored.bury(database, left.instance, dt.datetime.now(dt.UTC))
