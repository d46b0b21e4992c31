"""The database as a command opens it: by the settings that the service has, beside a service that may be running."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fumehood import operating, settings
from fumehood.cli import USAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from fumehood.store.database import Database

FAILED = 1


def with_database(config: Path | None, work: Callable[[Database], int]) -> int:
    """Do the work on the database and give its exit code; 1 where there is no database, 2 for wrong settings."""
    try:
        # Where the service would bind is none of a command's business, and must not stop it.
        chosen = settings.load(config, host="127.0.0.1")
    except settings.SettingsError as wrong:
        return fail(str(wrong), USAGE)
    from fumehood.store.database import Database, DatabaseError

    try:
        with contextlib.closing(Database.open(chosen.database_url, chosen.data_folder)) as database:
            if not database.lasting:
                return fail("database: it is in the service's memory, which no other program can reach", USAGE)
            return work(database)
    except (DatabaseError, OSError) as error:
        return fail(f"database: {operating.shown_url(chosen.database_url)}: {error}", FAILED)


def fail(message: str, code: int) -> int:
    """Say what is wrong on stderr and give the code."""
    for line in message.splitlines():
        print(f"fumehood: {line}", file=sys.stderr)
    return code
