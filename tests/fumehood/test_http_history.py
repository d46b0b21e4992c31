"""``GET /v1/executions``: every accepted run is on record, and each caller reads his own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doubles import result
from keyed import Keyed
from serving import serving, until

from fumehood import audit as audits
from fumehood import keys
from fumehood.keys import Grants
from fumehood.settings import Settings
from fumehood.store import executions
from fumehood.store.database import Database, DatabaseError
from sandbox import SetupError, Status


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Callers of their own."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_a_run_is_on_record_when_it_is_answered(keyed: Keyed) -> None:
    """All that was asked and all that was measured; the newest of an id that was used twice."""
    key = keyed.make()
    headers = {"X-API-Key": key, "X-Request-ID": "request-7"}
    keyed.live.client.post("/v1/execute", json={"code": "0", "id": "mine"}, headers=headers)
    keyed.live.client.post("/v1/execute", json={"code": "1", "id": "mine"}, headers=headers)
    told = keyed.get(key, "/v1/executions/mine").json()
    assert told["code_sha256"] == "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
    assert (told["id"], told["request_id"], told["client"], told["code"]) == ("mine", "request-7", "127.0.0.1", None)
    assert (told["status"], told["exit_code"], told["launcher"]) == ("ok", 0, "cold")
    assert (told["language"], told["network"], told["limits"]["wall_seconds"]) == ("python", "none", 30)
    assert (told["usage"]["peak_memory_bytes"], told["stdout_bytes"], told["limits_hit"]) == (9_000_000, 3, [])
    assert told["accepted_at"] <= told["finished_at"]
    assert keyed.live.problem(keyed.get(key, "/v1/executions/other"))[:2] == (404, "unknown-record")


def test_the_record_of_a_run_under_way_says_so(keyed: Keyed, threads: ThreadPoolExecutor) -> None:
    """Also of one that waits."""
    key = keyed.make(grants=Grants(concurrency=1))
    runs = [threads.submit(keyed.execute, key, code="wait", id="a")]
    assert keyed.live.box.waiting.acquire(timeout=5)
    runs.append(threads.submit(keyed.execute, key, id="b"))
    until(lambda: keyed.get(key, "/v1/executions/b").status_code == 200)
    for name in "ab":
        told = keyed.get(key, f"/v1/executions/{name}").json()
        assert (told["status"], told["finished_at"]) == ("running", None)
    keyed.live.box.let_go.set()
    assert [run.result().status_code for run in runs] == [200, 200]


def test_a_failure_of_ours_is_on_record(keyed: Keyed) -> None:
    """Under the problem's name, known or not."""
    key = keyed.make()
    for error, problem in ((SetupError("mount", 5), "setup-failed"), (ZeroDivisionError(), "internal-error")):

        def fail(_: Any, error: Exception = error) -> Any:
            raise error

        keyed.live.box.script = fail
        assert keyed.execute(key, id=problem).status_code == 500
        told = keyed.get(key, f"/v1/executions/{problem}").json()
        assert (told["status"], told["problem"]) == ("failed", problem)


def test_runs_of_a_batch_have_a_record_each(keyed: Keyed) -> None:
    """With the batch's id; a run that was refused was not accepted and has none."""
    key = keyed.make()
    body = {"id": "b", "runs": [{"code": "1"}, {"code": "1", "language": "cobol"}, {"code": "1"}], "stop_on": ["ok"]}
    keyed.live.client.post("/v1/execute/batch", json=body, headers={"X-API-Key": key})
    told = keyed.get(key, "/v1/executions?batch=b").json()["executions"]
    assert len(told) == 2
    assert {one["batch_id"] for one in told} == {"b"}
    assert {one["status"] for one in told} <= {"ok", "cancelled"}


def test_pages_follow_each_other_without_gap_or_repetition(keyed: Keyed) -> None:
    """Also while new runs come in."""
    key = keyed.make()
    for number in range(7):
        keyed.execute(key, id=f"r{number}")
    seen: list[str] = []
    path = "/v1/executions?limit=3"
    while True:
        told = keyed.get(key, path).json()
        seen += [one["id"] for one in told["executions"]]
        keyed.execute(key, id=f"late-{len(seen)}")
        if told["next"] is None:
            break
        path = f"/v1/executions?limit=3&cursor={told['next']}"
    assert seen == [f"r{number}" for number in range(6, -1, -1)]


def test_a_caller_sees_what_is_his_and_an_admin_everything(keyed: Keyed) -> None:
    """Whichever way he asks."""
    mine, other, admin = keyed.make(), keyed.make(), keyed.make(admin=True)
    keyed.execute(mine, id="secret")
    mine_id = keys.id_in(mine.encode())
    assert keyed.get(other, "/v1/executions").json()["executions"] == []
    assert keyed.get(other, "/v1/executions/secret").status_code == 404
    assert keyed.live.problem(keyed.get(other, f"/v1/executions?key={mine_id}")) == (403, "not-allowed", ["key"])
    assert len(keyed.get(mine, f"/v1/executions?key={mine_id}").json()["executions"]) == 1
    assert keyed.get(admin, "/v1/executions/secret").json()["key_id"] == mine_id
    assert len(keyed.get(admin, f"/v1/executions?key={mine_id}").json()["executions"]) == 1
    assert keyed.get(admin, "/v1/executions?limit=1000").status_code == 200


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=x!", "cursor"),
        ("cursor=LTE", "cursor"),
        ("since=yesterday", "since"),
        ("colour=red", "colour"),
    ],
)
def test_a_wrong_question_is_refused_by_its_parameter(keyed: Keyed, query: str, name: str) -> None:
    """As a wrong field of a body is."""
    assert keyed.live.problem(keyed.get("plain", f"/v1/executions?{query}")) == (422, "invalid-request", [name])


def test_records_are_filtered_by_time_and_status(keyed: Keyed) -> None:
    """``status`` may be repeated."""
    key = keyed.make()
    keyed.live.box.script = lambda job: result(Status(job.code))
    for status in ("ok", "timeout", "error"):
        keyed.execute(key, code=status, id=status)
    path = "/v1/executions?status=timeout&status=error"
    assert [one["id"] for one in keyed.get(key, path).json()["executions"]] == ["error", "timeout"]
    middle = keyed.get(key, "/v1/executions/timeout").json()["accepted_at"]
    told = keyed.get(key, f"/v1/executions?since={middle.replace('+', '%2B')}").json()
    assert [one["id"] for one in told["executions"]] == ["error", "timeout"]
    assert keyed.get(key, "/v1/executions?until=2020-01-01T00:00:00Z").json()["executions"] == []


def test_a_caller_who_vanishes_leaves_a_record(keyed: Keyed, threads: ThreadPoolExecutor) -> None:
    """Of a run under way, and of one in line."""
    key = keyed.make(grants=Grants(concurrency=1))
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(
            f"{keyed.live.address}/v1/execute",
            json={"code": "wait", "id": "gone"},
            headers={"X-API-Key": key},
            timeout=0.5,
        )
    until(lambda: keyed.get(key, "/v1/executions/gone").json()["status"] == "cancelled")
    assert threads.submit(keyed.execute, key).result().status_code == 200
    told = keyed.get(key, "/v1/executions").json()["executions"]
    assert [one["status"] for one in told] == ["ok", "cancelled"]


def test_code_is_told_where_it_is_kept(tmp_path: Path) -> None:
    """And so is everything else, from the start on."""
    database = Database.open(f"sqlite:///{tmp_path}/x.db", tmp_path)
    with serving(Settings(port=0, audit={"code": True}), database=database) as live:
        live.execute(code="print('é')", id="a")
        assert live.client.get("/v1/executions/a").json()["code"] == "print('é')"
        assert live.client.get("/v1/executions").json()["executions"][0]["key_id"] == "anybody"


def test_while_too_much_waits_for_the_database_nothing_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503 with Retry-After, ``/readyz`` says so too, and afterwards all of it is on record."""
    monkeypatch.setattr(audits, "_RETRY_SECONDS", 0.02)
    database = Database.open(f"sqlite:///{tmp_path}/x.db", tmp_path)

    def fail(*_: Any) -> None:
        raise DatabaseError("a write failed: disk full")

    with serving(Settings(port=0, concurrency=1, audit={"pending": 4}), database=database) as live:
        with monkeypatch.context() as patch:
            patch.setattr(executions, "write", fail)
            assert [live.execute(code="1").status_code for _ in range(2)] == [200, 200]
            answer = live.execute(code="1")
            assert live.problem(answer)[:2] == (503, "records-behind")
            assert answer.headers["retry-after"]
            assert live.problem(live.client.get("/readyz"))[:2] == (503, "records-behind")
            assert live.client.get("/healthz").status_code == 200
        until(lambda: live.client.get("/readyz").status_code == 200)
        assert live.execute(code="1").status_code == 200
        told = live.client.get("/v1/executions").json()["executions"]
        assert [one["status"] for one in told] == ["ok"] * 3
