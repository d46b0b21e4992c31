"""Opening a database, SQLite or PostgreSQL: made, brought up to date, refused."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import select, text

from fumehood import keys
from fumehood.store import database as databases
from fumehood.store import keys as stored
from fumehood.store.database import HEAD, MEMORY, Database, DatabaseError
from fumehood.store.tables import instances, metadata

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, dt.UTC)
MIGRATIONS = Path(databases.__file__).parent / "migrations"


def test_the_migrations_make_the_tables(database: Database) -> None:
    """What the steps leave is what the code works with, to the type of every column."""
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_newest_step_is_known() -> None:
    """A start on a current database looks at one number and loads no migration tool."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_opening_again_changes_nothing(database: Database, database_url: str) -> None:
    """And what was there is there."""
    key, _ = keys.make("a", now=NOW)
    stored.add(database, key)
    again = Database.open(database_url)
    assert stored.every(again) == (key,)
    again.close()


def test_a_current_database_is_opened_without_the_migration_tool(tmp_path: Path) -> None:
    """It costs more than all the rest of opening it."""
    url = f"sqlite:///{tmp_path}/x.db"
    Database.open(url).close()
    script = (
        "import sys; from fumehood.store.database import Database; Database.open(sys.argv[1]).close();"
        "print('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_database_of_a_newer_release_is_refused(database: Database, database_url: str) -> None:
    """Its tables may mean something else."""
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseError, match="another release"):
        Database.open(database_url)


def test_many_that_open_a_new_database_at_once_all_have_it(database_url: str) -> None:
    """Replicas start together; one makes the tables and the others wait for it."""
    failed: list[BaseException] = []

    def open_it() -> None:
        try:
            Database.open(database_url).close()
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_times_come_back_as_they_went(database: Database) -> None:
    """With their zone and to the microsecond, whatever zone they were written in."""
    moment = NOW.astimezone(dt.timezone(dt.timedelta(hours=5, minutes=30)))
    with database.write() as connection:
        connection.execute(instances.insert().values(id="x", started_at=moment, seen_at=moment))
    with database.read() as connection:
        found = connection.execute(select(instances.c.seen_at)).scalar_one()
    assert (found, found.utcoffset()) == (NOW, dt.timedelta(0))


def test_a_failed_write_leaves_nothing(database: Database) -> None:
    """The transaction is undone, and the values are not in the message."""
    key, _ = keys.make("a", now=NOW)

    def fail() -> None:
        with database.write() as connection:
            connection.execute(instances.insert().values(id="x", started_at=NOW, seen_at=NOW))
            connection.execute(text("INSERT INTO nowhere VALUES (:secret)"), {"secret": key.digest})

    with pytest.raises(DatabaseError) as failed:
        fail()
    assert key.digest not in str(failed.value)
    with database.read() as connection:
        assert connection.execute(select(instances)).all() == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://u:hunter2@/x?host=/nowhere", "cannot be opened"),
        ("sqlite:////proc/nowhere/x.db", "cannot be opened"),
        ("sqlite:////dev/null", "cannot be opened"),
    ],
)
def test_what_cannot_be_had_is_refused(url: str, words: str) -> None:
    """With a reason, and never with a password."""
    with pytest.raises(DatabaseError, match=words) as refused:
        Database.open(url)
    assert "hunter2" not in str(refused.value)


def test_the_file_is_the_services_alone(tmp_path: Path) -> None:
    """It may hold callers' code; so are its companions, while it is open."""
    database = Database.open(f"sqlite:///{tmp_path}/new/x.db")
    stored.add(database, keys.make("a", now=NOW)[0])
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "new").iterdir()}
    database.close()
    assert modes == {"x.db": "0o600", "x.db-wal": "0o600", "x.db-shm": "0o600"}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_a_database_in_memory_is_one_for_all_threads() -> None:
    """It lasts as long as it is open."""
    database = Database.open(MEMORY)
    thread = threading.Thread(target=lambda: stored.add(database, keys.make("a", now=NOW)[0]))
    thread.start()
    thread.join()
    assert len(stored.every(database)) == 1
    assert not database.lasting
    database.close()


def test_a_file_is_opened_as_often_as_it_will_ever_be(tmp_path: Path) -> None:
    """Readers and a writer at the same moment open nothing more, which might then fail for want of descriptors."""
    database = Database.open(f"sqlite:///{tmp_path}/fumehood.db", tmp_path)

    def held() -> int:
        links = (entry for entry in Path("/proc/self/fd").iterdir())
        return sum(str(tmp_path) in os.readlink(entry) for entry in links if entry.is_symlink())

    before, together = held(), threading.Barrier(databases._CONNECTIONS)

    def ask(number: int) -> None:
        with database.read() if number else database.write() as connection:
            together.wait(10)
            connection.execute(text("SELECT count(*) FROM api_keys"))

    with ThreadPoolExecutor(databases._CONNECTIONS) as threads:
        list(threads.map(ask, range(databases._CONNECTIONS)))
    assert held() == before > 0
    database.close()
    assert held() == 0
