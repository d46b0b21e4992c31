"""A service over scripted parts, for every test that wants one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import postgres
import pytest
from keyed import Keyed
from pydantic import SecretStr
from serving import Live, serving, state_folder, until

from analyzers.isolate import Pool
from fumehood import keyholder
from fumehood.settings import Settings
from fumehood.store.database import Database
from sandbox import Config, Sandbox


@pytest.fixture(scope="session")
def settings() -> Settings:
    """Two slots, two places in line, small bodies, and a free port."""
    return Settings(port=0, concurrency=2, queue=2, body_bytes=1 << 20, shutdown_grace_seconds=0.2)


@pytest.fixture(scope="session")
def _served(settings: Settings) -> Iterator[Live]:
    with serving(settings) as running:
        yield running


@pytest.fixture
def live(_served: Live) -> Iterator[Live]:
    """A service over scripted parts that know nothing of the test before. The server itself is shared."""
    _served.box.reset()
    _served.analyser.reset()
    yield _served
    _served.box.let_go.set()
    until(lambda: len(_served.box.ended) == len(_served.box.jobs))


@pytest.fixture(scope="session")
def analyser() -> Iterator[Pool]:
    """One worker of the real analyser: starting it costs what a hundred analyses do."""
    with Pool(1, seconds=20) as pool:
        yield pool


@pytest.fixture
def state() -> Iterator[Path]:
    """A state folder for one test."""
    with state_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def engine() -> Iterator[Sandbox]:
    """The real engine, started once."""
    with state_folder() as folder, Sandbox(Config(state_dir=folder)) as box:
        yield box


@pytest.fixture(scope="session")
def postgres_server(need: Callable[[bool, str], None]) -> Iterator[postgres.Server]:
    """Give Debian's PostgreSQL, started once."""
    programs = postgres.binaries()
    need(programs is not None, "PostgreSQL's server programs (Debian: postgresql)")
    assert programs is not None
    with postgres.server(programs) as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Name an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'data' / 'fumehood.db'}"
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return server.database()


@pytest.fixture
def database(database_url: str, tmp_path: Path) -> Iterator[Database]:
    """Give an open database, of each kind in turn."""
    opened = Database.open(database_url, tmp_path / "data")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def _keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    folder = tmp_path_factory.mktemp("data")
    settings = Settings(
        port=0, concurrency=2, queue=4, reserve_seconds=0, api_key=(SecretStr("plain"),), key_refresh_seconds=0.1
    )
    database = Database.open(f"sqlite:///{folder}/x.db", folder)
    with serving(settings, database=database) as live:
        yield Keyed(live, database)


@pytest.fixture
def keyed(_keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> Keyed:
    """A service that knows nothing of the test before but its keys; a new key is looked for at once."""
    monkeypatch.setattr(keyholder, "_LEAST_SECONDS", 0.0)
    _keyed.live.box.reset()
    return _keyed
