"""One database, SQLite or PostgreSQL, brought up to date when it is opened.

SQLite: a write-ahead log, so that readers and the writer do not wait for each other and a killed process loses nothing
that was committed. Only losing power may cost the last moments (``synchronous=NORMAL``).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from fumehood.threads import started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import URL

Answer = TypeVar("Answer")

MEMORY = "sqlite://"
HEAD = "0001"
"""The newest migration. Known here so that a start on a current database need not load the migration tool."""

_BUSY_MILLISECONDS = 10_000
_CONNECT_SECONDS = 10
_POOL = 4
_THREADS = 4
_CONNECTIONS = _THREADS + 1
"""Of a file: one for each thread that may ask, and one for the log's."""
_MIGRATION_LOCK = 0x66756D65  # any number that is ours: instances that start together migrate one after the other


class DatabaseError(Exception):
    """The database cannot be had or used. The text names the step; no password is in it."""


class Database:
    """An open database. Safe for many threads. Made by :meth:`open`.

    ``folder`` is where what belongs to this machine alone is kept beside it, such as journals; None for nowhere.
    """

    def __init__(self, engine: Engine, folder: Path | None) -> None:
        self._engine = engine
        self.folder = folder
        self.lasting = engine.url.database not in {None, "", ":memory:"} or engine.dialect.name != "sqlite"
        # SQLite has one writer at a time, and one that waits here waits better than one that polls the file. Of a
        # database in memory there is one connection, so that readers wait too.
        self._writing = threading.Lock() if engine.dialect.name == "sqlite" else contextlib.nullcontext()
        # The event loop's own threads read requests: nobody's may wait there for a database.
        self._threads = started(_THREADS, "database")
        self._reading = self._writing if not self.lasting else contextlib.nullcontext()

    @classmethod
    def open(cls, url: str, folder: Path | None = None) -> Database:
        """Connect, and bring the tables up to date.

        Raises:
            DatabaseError: it cannot be reached, or was made by a newer release.
        """
        try:
            parsed = make_url(url)
            engine = _engine(parsed)
        except (ArgumentError, ModuleNotFoundError, OSError) as error:
            raise DatabaseError(f"cannot be opened: {error}") from error
        database = cls(engine, folder)
        try:
            _migrate(engine)
            if database.kind == "sqlite" and database.lasting:
                _fill(engine)
        except SQLAlchemyError as error:
            database.close()
            raise DatabaseError(f"cannot be opened: {_reason(error)}") from error
        except DatabaseError:
            database.close()
            raise
        return database

    @property
    def kind(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self._engine.dialect.name

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction, committed where the block ends well. Raises DatabaseError."""
        try:
            with self._writing, self._engine.connect() as connection, _writing(connection):
                yield connection
        except SQLAlchemyError as error:
            raise DatabaseError(f"a write failed: {_reason(error)}") from error

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view. Raises DatabaseError."""
        try:
            with self._reading, self._engine.connect() as connection, connection.begin():
                yield connection
        except SQLAlchemyError as error:
            raise DatabaseError(f"a read failed: {_reason(error)}") from error

    async def aside(self, work: Callable[[], Answer]) -> Answer:
        """Do the work, which asks the database, in a thread kept for that."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def shrink(self, pages: int) -> None:
        """Give so many pages that hold nothing any more back to the disk. PostgreSQL sees to that by itself."""
        if self.kind != "sqlite":
            return
        try:
            with self._writing, contextlib.closing(self._engine.raw_connection()) as connection:
                # One step frees one page, and only a script is stepped to its end.
                connection.driver_connection.executescript(f"PRAGMA incremental_vacuum({pages});")  # type: ignore[union-attr]
        except SQLAlchemyError as error:
            raise DatabaseError(f"giving space back failed: {_reason(error)}") from error

    def close(self) -> None:
        """Wait for what is under way, and close every connection."""
        self._threads.shutdown()
        self._engine.dispose()


def _writing(connection: Connection) -> contextlib.AbstractContextManager[object]:
    return connection.execution_options(fumehood_writes=True).begin()


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=_POOL,
            pool_pre_ping=True,  # a server that was started anew in between is no failure
            connect_args={"connect_timeout": _CONNECT_SECONDS, "application_name": "fumehood"},
        )
    kept_open: dict[str, Any] = {}
    if url.database in {None, "", ":memory:"}:
        kept_open = {"poolclass": StaticPool}
    else:
        _make_private(Path(str(url.database)))
        kept_open = {"pool_size": _CONNECTIONS}
    engine = create_engine(
        url.set(drivername="sqlite"),
        connect_args={"check_same_thread": False, "timeout": _BUSY_MILLISECONDS / 1000},
        **kept_open,
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_private(path: Path) -> None:
    """The log may hold callers' code: nobody but the service's user reads it. Its companions get the file's mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _prepare_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401 - the driver's own type
    connection.isolation_level = None  # transactions begin where we say so, for changes of tables too
    for pragma in (
        "auto_vacuum=INCREMENTAL",
        "journal_mode=WAL",
        "synchronous=NORMAL",
        f"busy_timeout={_BUSY_MILLISECONDS}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # One that will write says so at once: SQLite refuses a reader who wants to write after somebody else has.
    writes = connection.get_execution_options().get("fumehood_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _fill(engine: Engine) -> None:
    """Open every connection of the pool now, so that none is wanting later for lack of descriptors."""
    with contextlib.ExitStack() as held:
        for _ in range(_CONNECTIONS):
            held.enter_context(engine.connect())


def _migrate(engine: Engine) -> None:
    with engine.connect() as connection, _writing(connection):
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
        if _version(connection) == HEAD:
            return
        # Loaded only where there is something to do: it costs more than all the rest of a start of the store.
        from alembic import command  # noqa: PLC0415
        from alembic.config import Config  # noqa: PLC0415
        from alembic.util import CommandError  # noqa: PLC0415

        spec = importlib.util.find_spec("fumehood.store.migrations")
        assert spec is not None  # noqa: S101 - it is beside this file
        assert spec.origin is not None  # noqa: S101
        config = Config()
        config.set_main_option("script_location", str(Path(spec.origin).parent).replace("%", "%%"))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise DatabaseError(f"was made by another release of Fumehood: {error}") from error


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


def _reason(error: SQLAlchemyError) -> str:
    """What the driver said: the statement and its values stay out, for they may hold code or digests."""
    cause = getattr(error, "orig", None) or error
    return " ".join(str(cause).split())[:500]
