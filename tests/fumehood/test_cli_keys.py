"""``fumehood keys`` and ``fumehood audit``: what they print, and how they end."""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fumehood import cli, keys, moments
from fumehood.audit import Audit
from fumehood.settings import Settings
from fumehood.store import keys as stored
from fumehood.store.database import Database

NOW = dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)
Fumehood = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fumehood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fumehood:
    """Type a command, with a data folder of its own, and give code, stdout and stderr."""
    monkeypatch.setenv("FUMEHOOD_DATA_DIR", str(tmp_path / "data"))

    def type_(*words: str) -> tuple[int, str, str]:
        try:
            code = cli.main(words)
        except SystemExit as usage:
            code = int(usage.code or 0)
        told = capsys.readouterr()
        return code, told.out, told.err

    return type_


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """Open the database that the commands use."""
    return Database.open(f"sqlite:///{tmp_path}/data/fumehood.db", tmp_path / "data")


def test_a_key_is_printed_once_and_alone(fumehood: Fumehood, database: Database) -> None:
    """So that a script can take it; nothing that is kept tells it again."""
    code, out, err = fumehood("keys", "create", "--label", "team")
    assert (code, out.count("\n")) == (0, 1)
    key = out.strip()
    assert keys.id_in(key.encode()) in err
    assert key.rpartition("_")[2] not in err
    (kept,) = stored.every(database)
    assert (kept.label, kept.grants, kept.admin, kept.expires_at) == ("team", keys.ALL, False, None)
    for listing in (("keys", "list"), ("keys", "list", "--json"), ("keys", "list", "--all")):
        code, out, _ = fumehood(*listing)
        assert kept.id in out
        assert key.rpartition("_")[2] not in out
        assert kept.digest not in out
    database.close()


def test_every_grant_can_be_given(fumehood: Fumehood, database: Database) -> None:
    """And comes back from the database as it was typed."""
    words = (
        *(
            "--label",
            "x",
            "--admin",
            "--expires",
            "90d",
            "--concurrency",
            "2",
            "--queue",
            "0",
            "--rate-per-minute",
            "9",
        ),
        *(
            "--limit",
            "wall_seconds=1.5",
            "--limit",
            "memory-bytes=33_554_432",
            "--language",
            "python",
            "--language",
            "sh",
        ),
        *(
            "--network",
            "none",
            "--tool",
            "",
            "--launcher",
            "cold",
            "--analysis",
            "block",
            "--block-at",
            "low",
            "--json",
        ),
    )
    code, out, _ = fumehood("keys", "create", *words)
    assert code == 0
    told = json.loads(out)
    assert told["key"].startswith("fh_" + told["id"])
    (kept,) = stored.every(database)
    assert kept.admin
    assert kept.expires_at is not None
    assert kept.expires_at - kept.created_at == dt.timedelta(days=90)
    assert kept.grants.model_dump(mode="json", exclude_defaults=True) == {
        "concurrency": 2,
        "queue": 0,
        "rate_per_minute": 9,
        "limits": {"wall_seconds": 1.5, "memory_bytes": 1 << 25},
        "languages": ["python", "sh"],
        "networks": ["none"],
        "tools": [],
        "launcher": "cold",
        "analysis": "block",
        "block_at": "low",
    }
    database.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", "walls=3"), "limits.walls"),
        (("--limit", "wall_seconds"), "limit: 'wall_seconds' is not NAME=VALUE"),
        (("--limit", "wall_seconds=0"), "limits.wall_seconds"),
        (("--concurrency", "0"), "concurrency"),
        (("--network", "all"), "networks.0"),
        (("--expires", "soon"), "not a moment: 'soon'"),
        (("--expires", "2020-01-01"), "over already"),
        (("--label", "x\n"), "label"),
        (("--launcher", "warm"), "--launcher"),
    ],
)
def test_a_wrong_option_is_named_and_makes_no_key(fumehood: Fumehood, words: tuple[str, ...], said: str) -> None:
    """2, and the database is not even opened."""
    code, out, err = fumehood("keys", "create", "--label", "x", *words)
    assert (code, out) == (2, "")
    assert said in err


def test_a_key_is_changed_where_it_is_named(fumehood: Fumehood, database: Database) -> None:
    """The rest of what it may ask for stays, and so does the key itself."""
    limits = ("--limit", "wall_seconds=20", "--limit", "memory_bytes=268435456")
    fumehood("keys", "create", "--label", "team", "--concurrency", "2", "--queue", "5", "--launcher", "cold", *limits)
    (before,) = stored.every(database)
    changes = ("--concurrency", "4", "--limit", "memory_bytes=", "--limit", "cpus=1", "--reset", "queue")
    code, out, _ = fumehood("keys", "change", before.id, *changes)
    assert (code, out.split()[:2]) == (0, [before.id, "team"])
    (after,) = stored.every(database)
    assert after == dataclasses.replace(before, grants=after.grants)
    assert after.grants.model_dump(exclude_defaults=True) == {
        "concurrency": 4, "launcher": "cold", "limits": {"wall_seconds": 20.0, "cpus": 1.0}
    }  # fmt: skip
    assert fumehood("keys", "change", before.id)[0] == 0
    assert stored.every(database) == (after,)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--concurrency", "0"), 2, "concurrency"),
        (("--reset", "everything"), 2, "none of concurrency"),
        (("--limit", "wall_seconds"), 2, "is not NAME=VALUE"),
        (("--limit", "nonsense=3"), 2, "limits.nonsense"),
    ],
)
def test_a_wrong_change_changes_nothing(
    fumehood: Fumehood, database: Database, words: tuple[str, ...], code: int, said: str
) -> None:
    """Nor does one of a key that is valid no more."""
    fumehood("keys", "create", "--label", "team", "--concurrency", "2")
    (before,) = stored.every(database)
    ended, _, err = fumehood("keys", "change", before.id, *words)
    assert (ended, said in err) == (code, True)
    assert stored.every(database) == (before,)
    fumehood("keys", "revoke", before.id)
    ended, _, err = fumehood("keys", "change", before.id, "--concurrency", "3")
    assert (ended, "no valid key" in err) == (1, True)


def test_a_key_is_revoked_by_its_id(fumehood: Fumehood, database: Database) -> None:
    """Then it is listed only where all are asked for."""
    fumehood("keys", "create", "--label", "a")
    (kept,) = stored.every(database)
    assert fumehood("keys", "revoke", kept.id)[0] == 0
    assert fumehood("keys", "list")[1] == ""
    code, out, _ = fumehood("keys", "list", "--all")
    assert f"{kept.id}  revoked " in out
    code, _, err = fumehood("keys", "revoke", "nobody")
    assert (code, "there is no key nobody" in err) == (1, True)
    database.close()


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("sqlite://", 2, "in the service's memory"),
        ("postgresql://me:s3cr3t@/x?host=/nowhere", 1, "cannot be opened"),
        ("mysql://x/y", 2, "database: a URL"),
    ],
)
def test_a_database_that_cannot_be_had_ends_in_words(
    fumehood: Fumehood, monkeypatch: pytest.MonkeyPatch, url: str, code: int, said: str
) -> None:
    """And without the password."""
    monkeypatch.setenv("FUMEHOOD_DATABASE", url)
    for words in (("keys", "list"), ("audit",)):
        ended, out, err = fumehood(*words)
        assert (ended, out) == (code, "")
        assert said in err
        assert "s3cr3t" not in err


@pytest.fixture
def recorded(database: Database) -> Database:
    """Give four records, two of them of the key ``k1``."""
    audit = Audit.open(Settings(port=0, audit={"code": True}), database)
    limits = dict.fromkeys(("wall_seconds", "cpu_seconds", "memory_bytes", "processes", "output_bytes"), 1)
    limits |= dict.fromkeys(("disk_bytes", "inodes", "open_files", "cpus"), 1)
    usage = {"wall_seconds": 0.25, "cpu_seconds": 0.1, "peak_memory_bytes": 5, "peak_processes": 1, "queue_seconds": 0}
    for number, status in enumerate(("ok", "timeout", "ok")):
        known: dict[str, Any] = {"run_id": f"r{number}", "key_id": f"k{number % 2}", "language": "python"}
        entry = audit.accept("=1+1", **known, limits=limits, network="none")
        audit.end(entry, {"status": status, "usage": usage, "limits_hit": ["wall", "cpu"]}, here=True)
    entry = audit.accept("x", run_id="r3", key_id="k1", language="bash", limits=limits, network="none")
    audit.end(entry, {"status": "failed", "problem": "setup-failed"}, here=True)
    audit.close()
    database.close()
    return database


@pytest.mark.usefixtures("recorded")
def test_records_are_listed_for_a_person(fumehood: Fumehood) -> None:
    """A line each, the oldest first, and of many the newest."""
    code, out, _ = fumehood("audit")
    assert code == 0
    assert [line.rpartition(" ")[2] for line in out.splitlines()] == ["r0", "r1", "r2", "r3"]
    assert "failed (setup-failed)" in out
    assert "0.250s" in out
    assert [line.rpartition(" ")[2] for line in fumehood("audit", "--limit", "2")[1].splitlines()] == ["r2", "r3"]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ((), "r0 r1 r2 r3"),
        (("--key", "k1"), "r1 r3"),
        (("--status", "ok", "--status", "failed"), "r0 r2 r3"),
        (("--key", "k1", "--status", "timeout"), "r1"),
        (("--id", "r2"), "r2"),
        (("--since", "1h"), "r0 r1 r2 r3"),
        (("--until", "1h"), ""),
        (("--since", "2020-01-01", "--until", "2020-02-01T00:00:00+01:00"), ""),
        (("--limit", "1"), "r3"),
    ],
)
def test_records_are_exported_by_what_is_asked(fumehood: Fumehood, words: tuple[str, ...], ids: str) -> None:
    """Each line of JSON is a record as HTTP gives it."""
    code, out, _ = fumehood("audit", "--format", "jsonl", *words)
    told = [json.loads(line) for line in out.splitlines()]
    assert (code, " ".join(one["id"] for one in told)) == (0, ids)
    assert all(one["code_sha256"] and one["limits"]["inodes"] == 1 for one in told)


@pytest.mark.usefixtures("recorded")
def test_csv_has_a_column_for_each_value_and_no_formula(fumehood: Fumehood) -> None:
    """A spreadsheet must not run the code that somebody else wrote; a record without usage leaves its columns empty."""
    _, out, _ = fumehood("audit", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert [row["id"] for row in rows] == ["r0", "r1", "r2", "r3"]
    assert (rows[0]["code"], rows[0]["limits_hit"], rows[0]["usage.wall_seconds"]) == ('"=1+1"', "wall cpu", "0.25")
    assert (rows[3]["usage.wall_seconds"], rows[3]["problem"]) == ("", "setup-failed")
    empty = fumehood("audit", "--format", "csv", "--key", "nobody")[1]
    assert empty == out[: out.index("\r\n") + 2]


@pytest.mark.parametrize("words", [("--since", "x"), ("--until", "5 days"), ("--format", "xml")])
def test_a_wrong_question_is_a_usage_error(fumehood: Fumehood, words: tuple[str, ...]) -> None:
    """2, and nothing on stdout."""
    code, out, err = fumehood("audit", *words)
    assert (code, out) == (2, "")
    assert err


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90d", NOW - dt.timedelta(days=90)),
        ("2w", NOW - dt.timedelta(weeks=2)),
        ("30m", NOW - dt.timedelta(minutes=30)),
        ("2026-01-01", dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        ("2026-01-01T01:00:00+01:00", dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        ("2026-01-01T00:00:00Z", dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
    ],
)
def test_moments_are_written_or_so_far_off(text: str, moment: dt.datetime) -> None:
    """UTC where no zone is given; the same words mean the past here and the future there."""
    assert moments.ago(text, NOW) == moment
    assert moments.from_now(text, NOW) == (moment if "-" in text else NOW + (NOW - moment))
