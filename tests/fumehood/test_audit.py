"""The log and its journal: nothing is lost, whatever fails, and nobody waits for the database."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import postgres
import pytest
from serving import until

from fumehood import audit as audits
from fumehood import recovery
from fumehood.audit import Audit, NotRecordedError
from fumehood.settings import Settings
from fumehood.store import executions as stored
from fumehood.store.database import Database, DatabaseError
from fumehood.store.executions import Filter

ENDED = {"status": "ok", "exit_code": 0, "usage": {"wall_seconds": 0.5}, "limits_hit": [], "stdout_bytes": 3}
HASH_OF_1 = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"


@contextlib.contextmanager
def log(database: Database, **settings: Any) -> Iterator[Audit]:
    """Keep a log."""
    audit = Audit.open(Settings(port=0, audit=settings), database)
    try:
        yield audit
    finally:
        audit.close()


def accept(audit: Audit, run_id: str = "run", code: str = "1", **known: Any) -> audits.Entry:
    """Accept a run."""
    about = {"run_id": run_id, "key_id": "me", "language": "python", "limits": {"wall_seconds": 1}, "network": "none"}
    return audit.accept(code, **{**about, **known})


def rows(database: Database, **wanted: Any) -> list[dict[str, Any]]:
    """Give what is on record, the oldest first."""
    return [dict(row) for row in stored.oldest_first(database, Filter(**wanted))]


def kill(audit: Audit) -> None:
    """Leave everything as a killed process does: no thread, no lock, and what is pending gone."""
    audit._try = lambda _: False  # type: ignore[method-assign] # nothing more is stored
    assert audit._journal is not None
    os.close(audit._journal._lock)
    audit._journal._lock = os.open(os.devnull, os.O_RDONLY)


def test_a_run_has_one_record_from_its_acceptance_on(database: Database) -> None:
    """Running, then ended; with times, the hash of its code, and no code."""
    with log(database) as audit:
        before = dt.datetime.now(dt.UTC)
        entry = accept(audit, request_id="r", client="127.0.0.1", batch_id="b")
        assert audit.flush(5)
        (row,) = rows(database)
        assert (row["status"], row["finished_at"], row["code_sha256"], row["code"]) == (
            "running",
            None,
            HASH_OF_1,
            None,
        )
        audit.begin(entry)
        audit.end(entry, ENDED, here=True)
        assert audit.flush(5)
    (row,) = rows(database)
    assert (row["run_id"], row["batch_id"], row["request_id"], row["client"]) == ("run", "b", "r", "127.0.0.1")
    assert (row["status"], row["exit_code"], row["usage"], row["limits"]) == (
        *("ok", 0, {"wall_seconds": 0.5}),
        {"wall_seconds": 1},
    )
    assert before <= row["accepted_at"] <= row["finished_at"] <= dt.datetime.now(dt.UTC)


def test_the_code_is_kept_where_the_operator_wants_it(database: Database) -> None:
    """As it was, every character of it."""
    code = "print('é \U0001f600')\r\n# \ufeff"
    with log(database, code=True) as audit:
        audit.end(accept(audit, code=code), ENDED, here=True)
    assert rows(database)[0]["code"] == code


def test_the_first_ending_counts(database: Database) -> None:
    """However many tell one."""
    with log(database) as audit:
        entry = accept(audit)
        audit.end(entry, {"status": "cancelled"}, here=False)
        audit.end(entry, ENDED, here=True)
    assert [row["status"] for row in rows(database)] == ["cancelled"]


def test_many_runs_at_once_have_a_record_each(database: Database) -> None:
    """More than one batch holds, from many threads."""
    with log(database) as audit:

        def work(name: int) -> None:
            for number in range(150):
                entry = accept(audit, f"{name}-{number}")
                audit.begin(entry)
                audit.end(entry, ENDED, here=True)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        deadline = time.monotonic() + 60  # what a close finds no time for stays in the journal
        while audit.pending and time.monotonic() < deadline:
            time.sleep(0.01)
    found = rows(database)
    assert len(found) == len({row["run_id"] for row in found}) == 1200
    assert {row["status"] for row in found} == {"ok"}


def test_a_stop_leaves_neither_journal_nor_instance(database: Database) -> None:
    """All is in the database."""
    with log(database) as audit:
        audit.end(accept(audit), ENDED, here=True)
    assert database.folder is not None
    assert list((database.folder / "journal").iterdir()) == []
    assert stored.quiet_instances(database, dt.datetime.now(dt.UTC) + dt.timedelta(days=1)) == ()


def test_after_a_kill_endings_are_taken_up_and_what_ran_is_lost(database: Database) -> None:
    """From the journal alone, for the database had nothing yet; and the next start leaves nothing of it behind."""
    settings = Settings(port=0)
    audit = Audit.open(settings, database)
    audit._try = lambda _: False  # type: ignore[method-assign] # the database takes nothing
    done, running = accept(audit, "done"), accept(audit, "running")
    audit.begin(done)
    audit.begin(running)
    audit.end(done, ENDED, here=True)
    assert rows(database) == []
    kill(audit)
    with log(database):
        assert {row["run_id"]: row["status"] for row in rows(database)} == {"done": "ok", "running": "lost"}
        assert all(row["finished_at"] for row in rows(database))
        assert database.folder is not None
        assert len(list((database.folder / "journal").glob("*.lock"))) == 1
        assert recovery.recover(database) == 0
    assert len(rows(database)) == 2


def test_what_was_in_the_database_before_a_kill_stays_one_record(database: Database) -> None:
    """The journal tells it a second time."""
    audit = Audit.open(Settings(port=0), database)
    done, running = accept(audit, "done"), accept(audit, "running")
    audit.end(done, ENDED, here=True)
    assert audit.flush(5)
    kill(audit)
    with log(database):
        assert {row["run_id"]: row["status"] for row in rows(database)} == {"done": "ok", "running": "lost"}
    assert running.known["status"] == "running"


def test_a_write_that_was_killed_halfway_spoils_nothing(database: Database) -> None:
    """What was written whole counts."""
    audit = Audit.open(Settings(port=0), database)
    audit._try = lambda _: False  # type: ignore[method-assign]
    audit.begin(accept(audit, "whole"))
    assert audit._journal is not None
    os.write(audit._journal._segment, b'{"accepted":{"record_id":"x","run')
    kill(audit)
    with log(database):
        assert [row["run_id"] for row in rows(database)] == ["whole"]


def test_a_living_neighbour_is_left_alone(database: Database) -> None:
    """Two services beside each other: the second start does not take the first one's runs for lost."""
    with log(database) as first:
        entry = accept(first)
        assert first.flush(5)
        with log(database):
            assert [row["status"] for row in rows(database)] == ["running"]
        first.end(entry, ENDED, here=True)
    assert [row["status"] for row in rows(database)] == ["ok"]


def test_an_instance_elsewhere_is_dead_when_it_is_silent(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no lock to look at; one that was taken for dead and was not has the last word."""
    with log(database) as here:
        elsewhere = Database.open(database._engine.url.render_as_string(hide_password=False), None)
        there = Audit.open(Settings(port=0), elsewhere)
        entry = accept(there)
        assert there.flush(5)
        assert recovery.recover(database) == 0
        monkeypatch.setattr(recovery, "_DEAD_SECONDS", -1.0)
        assert recovery.recover(database) == 1
        assert [row["status"] for row in rows(database)] == ["lost"]
        stored.note_instance(database, there.instance, dt.datetime.now(dt.UTC))
        there.end(entry, ENDED, here=True)
        there.close()
        elsewhere.close()
        assert [row["status"] for row in rows(database)] == ["ok"]
        assert here.pending == 0


def test_while_the_database_fails_records_wait_and_then_are_there(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is held up; from a bound on nothing is accepted; nothing is lost, and the log says it once each."""
    monkeypatch.setattr(audits, "_RETRY_SECONDS", 0.02)
    fails = True
    write = stored.write

    def sometimes(*arguments: Any) -> None:
        if fails:
            raise DatabaseError("a write failed: no space")
        write(*arguments)

    monkeypatch.setattr(stored, "write", sometimes)
    with log(database, pending=10) as audit:
        for number in range(5):
            assert not audit.behind
            audit.end(accept(audit, str(number)), ENDED, here=True)
        assert audit.behind
        assert not audit.flush(0.1)
        fails = False
        assert audit.flush(5)
        assert not audit.behind
    assert sorted(row["run_id"] for row in rows(database)) == list("01234")


def test_what_the_database_does_not_take_at_a_stop_the_next_start_takes_up(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal stays until then."""
    monkeypatch.setattr(audits, "_CLOSE_SECONDS", 0.2)
    write = stored.write

    def never(*_: Any) -> None:
        raise DatabaseError("a write failed: no space")

    monkeypatch.setattr(stored, "write", never)
    with log(database) as audit:
        audit.end(accept(audit), ENDED, here=True)
    monkeypatch.setattr(stored, "write", write)
    assert rows(database) == []
    audit._thread.join(5)
    with log(database):
        assert [row["status"] for row in rows(database)] == ["ok"]


def test_a_run_that_cannot_be_put_on_record_is_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk under the journal; what had begun before is still recorded, by the database."""
    with log(database) as audit:
        begun = accept(audit, "begun")
        audit.begin(begun)

        def full(*_: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            late = accept(audit, "late")
            with pytest.raises(NotRecordedError, match="No space"):
                audit.begin(late)
            audit.end(begun, ENDED, here=True)
            audit.end(late, {"status": "failed", "problem": "records-behind"}, here=True)
        assert audit.flush(5)
    assert {row["run_id"]: row["status"] for row in rows(database)} == {"begun": "ok", "late": "failed"}


def test_what_is_past_its_time_goes(database: Database) -> None:
    """But never a run under way; without a retention nothing goes."""
    with log(database, retention_days=0) as audit:
        audit.end(accept(audit, "old", accepted_at=0), ENDED, here=True)
        running = accept(audit, "running")
        for entry in (running,):
            entry.known["accepted_at"] = time.time() - 86_400 * 100
        audit.end(accept(audit, "new"), ENDED, here=True)
        assert audit.flush(5)
        assert len(rows(database)) == 3
        past = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
        assert stored.prune(database, before=past - dt.timedelta(days=1), now=past) == 0
        assert stored.prune(database, before=past, now=past) == 2
        assert [row["run_id"] for row in rows(database)] == ["running"]


def test_retention_is_kept_while_the_service_runs(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only when it starts."""
    monkeypatch.setattr(audits, "_PRUNE_SECONDS", 0.05)
    with log(database, retention_days=1e-9) as audit:
        audit.end(accept(audit), ENDED, here=True)
        assert audit.flush(5)
        until(lambda: rows(database) == [])


def test_records_are_found_by_what_is_asked(database: Database) -> None:
    """Key, id, batch, status and time, together; in pages from the newest, and all of them from the oldest."""
    with log(database) as audit:
        for number in range(7):
            entry = accept(audit, f"r{number}", key_id=f"k{number % 2}", batch_id="b" if number > 4 else None)
            audit.end(entry, {"status": "ok" if number % 3 else "error"}, here=True)
        assert audit.flush(5)
    everything = rows(database)
    assert [row["run_id"] for row in everything] == [f"r{number}" for number in range(7)]
    assert [row["run_id"] for row in rows(database, key_id="k1", statuses=("error",))] == ["r3"]
    assert [row["run_id"] for row in rows(database, batch_id="b")] == ["r5", "r6"]
    since, until_ = everything[2]["accepted_at"], everything[4]["accepted_at"]
    assert [row["run_id"] for row in rows(database, since=since, until=until_)] == ["r2", "r3"]
    newest = stored.page(database, Filter(), before=None, limit=3)
    assert [row["run_id"] for row in newest] == ["r6", "r5", "r4"]
    assert [row["run_id"] for row in stored.page(database, Filter(), before=newest[-1]["seq"], limit=2)] == ["r3", "r2"]
    assert len(list(stored.oldest_first(database, Filter(), limit=4))) == 4


def test_a_server_that_was_started_anew_is_found_again(
    postgres_server: postgres.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL is stopped hard under a running log: records wait, and are all there afterwards."""
    monkeypatch.setattr(audits, "_RETRY_SECONDS", 0.05)
    database = Database.open(postgres_server.database(), tmp_path)
    with log(database) as audit:
        audit.end(accept(audit, "before"), ENDED, here=True)
        assert audit.flush(5)
        postgres_server.stop()
        try:
            audit.end(accept(audit, "while"), ENDED, here=True)
            assert not audit.flush(0.3)
        finally:
            postgres_server.start()
        assert audit.flush(10)
    assert [row["run_id"] for row in rows(database)] == ["before", "while"]
    database.close()
