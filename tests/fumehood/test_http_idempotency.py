"""``Idempotency-Key``: the same call is answered again and never run again, whatever happens in between."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doubles import result
from pydantic import SecretStr
from serving import Live, serving, until

from fumehood.settings import Settings
from fumehood.store import executions, idempotency
from fumehood.store.database import Database, DatabaseError
from fumehood.store.idempotency import Answer, Bounds, Met, Place
from sandbox import SetupError, Status

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(hours=1)
PLACE = Place("me", "k")
WIDE = Bounds(calls=100, bytes=1 << 20)
KEYS = (SecretStr("first"), SecretStr("second"))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Live]:
    """A service with a database of its own."""
    database = Database.open(f"sqlite:///{tmp_path}/x.db", tmp_path)
    with serving(Settings(port=0, concurrency=2, api_key=KEYS), database=database) as live:
        yield live


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Callers of their own."""
    with ThreadPoolExecutor(16) as pool:
        yield pool


def post(
    live: Live, key: str | None, *, path: str = "/v1/execute", caller: str = "first", **request: Any
) -> httpx2.Response:
    """Call with an Idempotency-Key."""
    headers = {"X-API-Key": caller, **({"Idempotency-Key": key} if key else {})}
    return live.client.post(path, json=request or {"code": "1"}, headers=headers)


def test_the_same_call_is_answered_again_and_not_run_again(served: Live) -> None:
    """To the byte, and marked; without a key it is run each time."""
    first, second = post(served, '"a"'), post(served, '"a"')
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.content == second.content
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert second.headers["content-type"] == "application/json"
    assert len(served.box.jobs) == 1
    post(served, None)
    post(served, None)
    assert len(served.box.jobs) == 3


def test_a_bare_word_is_the_same_key_as_a_quoted_string(served: Live) -> None:
    """Many clients send it so."""
    assert post(served, '"a-1"').content == post(served, "a-1").content
    assert len(served.box.jobs) == 1


@pytest.mark.parametrize("key", ['""', '"', "a b", '"' + "x" * 256 + '"', '"a", "b"', '"é"'.encode().decode("latin-1")])
def test_what_is_no_key_is_refused(served: Live, key: str) -> None:
    """Instead of being run without one."""
    headers = {"X-API-Key": "first", "Idempotency-Key": key.encode("latin-1")}
    answer = served.client.post("/v1/execute", json={"code": "1"}, headers=headers)
    assert served.problem(answer) == (422, "invalid-request", ["Idempotency-Key"])
    assert served.box.jobs == []


def test_another_body_or_path_under_the_same_key_is_422(served: Live) -> None:
    """And is not run."""
    post(served, "a")
    for answer in (post(served, "a", code="2"), post(served, "a", path="/v1/execute/batch", runs=[{"code": "1"}])):
        assert served.problem(answer) == (422, "key-reused", ["Idempotency-Key"])
    assert len(served.box.jobs) == 1


def test_a_key_belongs_to_its_caller(served: Live) -> None:
    """Another caller's answer is not given away."""
    post(served, "a", code="first")
    assert "idempotency-replayed" not in post(served, "a", caller="second", code="second").headers
    assert [job.code for job in served.box.jobs] == ["first", "second"]


def test_of_many_at_once_one_is_run_and_the_others_are_told_to_wait(served: Live, threads: ThreadPoolExecutor) -> None:
    """409 with Retry-After while it is under way, its answer afterwards."""
    calls = [threads.submit(post, served, "a", code="wait") for _ in range(12)]
    until(lambda: sum(call.done() for call in calls) == 11)
    served.box.let_go.set()
    answers = [call.result() for call in calls]
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 11
    refused = next(answer for answer in answers if answer.status_code == 409)
    assert served.problem(refused)[1] == "call-under-way"
    assert refused.headers["retry-after"] == "1"
    assert len(served.box.jobs) == 1
    assert post(served, "a", code="wait").headers["idempotency-replayed"] == "true"


def test_a_caller_who_lost_the_connection_finds_the_answer(served: Live) -> None:
    """That is what a key is for, so the end of the connection does not cancel the run."""
    headers = {"X-API-Key": "first", "Idempotency-Key": "a"}
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{served.address}/v1/execute", json={"code": "wait"}, headers=headers, timeout=0.3)
    assert post(served, "a", code="wait").status_code == 409
    served.box.let_go.set()
    until(lambda: post(served, "a", code="wait").status_code == 200)
    assert post(served, "a", code="wait").json()["status"] == "ok"
    assert len(served.box.jobs) == 1


def test_a_call_that_was_refused_may_come_again(served: Live) -> None:
    """Nothing was run: mended or not, it is a new call."""
    for code in ("\0", "1"):
        post(served, "a", code=code)
    assert served.problem(post(served, "b", code="1", language="cobol"))[:2] == (422, "invalid-request")
    assert post(served, "b", code="1").status_code == 200
    assert [job.code for job in served.box.jobs] == ["1", "1"]


def test_a_failure_of_ours_is_an_answer_too(served: Live) -> None:
    """Something may have run before it."""

    def fail(_: Any) -> Any:
        raise SetupError("mount", 5)

    served.box.script = fail
    first = post(served, "a")
    served.box.script = lambda _: result()
    second = post(served, "a")
    assert served.problem(first) == served.problem(second) == (500, "setup-failed", [])
    assert len(served.box.jobs) == 1


def test_a_batch_is_kept_whole(served: Live) -> None:
    """As a document and as lines; the kind of the first answer is that of every later one."""
    body = {"runs": [{"code": "1"}, {"code": "\0"}, {"code": "3"}]}
    first = post(served, "a", path="/v1/execute/batch", **body)
    second = post(served, "a", path="/v1/execute/batch", **body)
    assert first.content == second.content
    assert len(second.json()["results"]) == 3
    headers = {"X-API-Key": "first", "Idempotency-Key": "lines", "Accept": "application/x-ndjson"}
    lines = [served.client.post("/v1/execute/batch", json=body, headers=headers) for _ in range(2)]
    assert lines[0].content == lines[1].content
    assert lines[1].headers["content-type"].startswith("application/x-ndjson")
    assert len(served.box.jobs) == 4


def test_a_batch_goes_on_without_its_caller(served: Live) -> None:
    """And is there when he comes back."""
    headers = {"X-API-Key": "first", "Idempotency-Key": "a"}
    body = {"runs": [{"code": "wait"}, {"code": "2"}]}
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{served.address}/v1/execute/batch", json=body, headers=headers, timeout=0.3)
    served.box.let_go.set()
    until(lambda: post(served, "a", path="/v1/execute/batch", **body).status_code == 200)
    told = post(served, "a", path="/v1/execute/batch", **body).json()
    assert [one["status"] for one in told["results"]] == ["ok", "ok"]
    assert len(served.box.jobs) == 2


def test_an_answer_too_large_to_keep_is_given_once_and_the_call_not_run_again(tmp_path: Path) -> None:
    """The caller who is there has it."""
    database = Database.open(f"sqlite:///{tmp_path}/x.db", tmp_path)
    with serving(Settings(port=0, idempotency={"bytes": 2000}), database=database) as live:
        body = {"runs": [{"code": "1"}] * 6}
        first = live.client.post("/v1/execute/batch", json=body, headers={"Idempotency-Key": "a"})
        assert len(first.json()["results"]) == 6
        second = live.client.post("/v1/execute/batch", json=body, headers={"Idempotency-Key": "a"})
        assert live.problem(second)[:2] == (409, "call-lost")
        assert len(live.box.jobs) == 6


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    """By calls for each key: then no call with a new key is taken, rather than an old one forgotten."""
    database = Database.open(f"sqlite:///{tmp_path}/x.db", tmp_path)
    with serving(Settings(port=0, idempotency={"calls": 2, "seconds": 2}), database=database) as live:
        call = lambda key: live.client.post("/v1/execute", json={"code": "1"}, headers={"Idempotency-Key": key})  # noqa: E731
        assert [call(key).status_code for key in "ab"] == [200, 200]
        refused = call("c")
        assert live.problem(refused)[:2] == (429, "too-many-kept")
        assert 1 <= int(refused.headers["retry-after"]) <= 2
        assert call("a").headers["idempotency-replayed"] == "true"
        until(lambda: call("c").status_code == 200)
        assert len(live.box.jobs) == 3


def test_without_the_database_a_call_with_a_key_is_not_run(served: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """It might be the second time."""

    def fail(*_: Any, **__: Any) -> None:
        raise DatabaseError("a write failed: gone")

    monkeypatch.setattr(idempotency, "take", fail)
    assert served.problem(post(served, "a"))[:2] == (503, "records-behind")
    assert served.box.jobs == []
    assert post(served, None).status_code == 200


def test_an_answer_outlives_the_service(tmp_path: Path) -> None:
    """A restart in between changes nothing."""
    answers = []
    for run in range(2):
        database = Database.open(f"sqlite:///{tmp_path}/x.db", tmp_path)
        with serving(Settings(port=0), database=database) as live:
            answer = live.client.post("/v1/execute", json={"code": "1"}, headers={"Idempotency-Key": "a"})
            assert len(live.box.jobs) == 1 - run
            answers.append((answer.status_code, answer.content))
    assert answers[0] == answers[1]
    assert answers[0][0] == 200


# --- In the database -------------------------------------------------------------------------------------------------


def take(database: Database, instance: str = "i", **changed: Any) -> idempotency.Found:
    """Take the place."""
    how: dict[str, Any] = {"bounds": WIDE, "now": NOW, "expires_at": LATER, **changed}
    return idempotency.take(database, how.pop("place", PLACE), how.pop("fingerprint", "f"), instance, **how)


def test_one_of_many_takes_the_place(database: Database) -> None:
    """On either database, from many threads at once."""
    executions.note_instance(database, "i", NOW)
    found: list[Met] = []
    threads = [threading.Thread(target=lambda: found.append(take(database).met)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(met.name for met in found) == ["NOTHING"] + ["UNDER_WAY"] * 11


def test_what_a_dead_instance_had_under_way_is_lost_and_stays_so(database: Database) -> None:
    """It is not known whether it ran, so it is not run again; an answer that was kept is not lost."""
    executions.note_instance(database, "i", NOW)
    take(database)
    other = Place("me", "other")
    take(database, place=other)
    idempotency.answer(database, other, "i", Answer(200, "application/json", b"{}"))
    assert take(database, "j").met is Met.UNDER_WAY
    executions.bury(database, "i", NOW)
    assert take(database, "j").met is Met.LOST
    assert take(database, "j").met is Met.LOST
    assert take(database, "j", place=other).answer == Answer(200, "application/json", b"{}")


def test_a_place_that_was_released_or_has_expired_is_free(database: Database) -> None:
    """But one that was answered is not released."""
    executions.note_instance(database, "i", NOW)
    take(database)
    idempotency.release(database, PLACE, "i")
    assert take(database).met is Met.NOTHING
    body = json.dumps({"x": "é" * 10_000}).encode()
    idempotency.answer(database, PLACE, "i", Answer(200, "application/json", body))
    idempotency.release(database, PLACE, "i")
    found = take(database)
    assert found.answer is not None
    assert found.answer.body == body
    assert take(database, fingerprint="g").met is Met.OTHER
    assert take(database, fingerprint="g", now=LATER, expires_at=LATER + dt.timedelta(1)).met is Met.NOTHING


def test_bytes_are_bounded_too(database: Database) -> None:
    """For each API key by itself; what is refused takes no place."""
    executions.note_instance(database, "i", NOW)
    narrow = Bounds(calls=100, bytes=50)
    take(database, bounds=narrow)
    body = bytes(range(256))
    idempotency.answer(database, PLACE, "i", Answer(200, "application/json", body))
    second = Place("me", "second")
    found = take(database, place=second, bounds=narrow)
    assert (found.met, found.room_at) == (Met.FULL, LATER)
    assert take(database, place=Place("you", "k"), bounds=narrow).met is Met.NOTHING
    assert take(database, place=second).met is Met.NOTHING
    assert executions.prune(database, before=None, now=LATER) == 3


def test_a_cancelled_run_is_an_answer(served: Live, threads: ThreadPoolExecutor) -> None:
    """By its id, which is how a call with a key is ended."""
    call = threads.submit(post, served, "a", code="wait", id="x")
    assert served.box.waiting.acquire(timeout=5)
    assert served.client.post("/v1/executions/x/cancel", headers={"X-API-Key": "first"}).status_code == 200
    assert call.result().json()["status"] == Status.CANCELLED
    assert post(served, "a", code="wait", id="x").json()["status"] == Status.CANCELLED
