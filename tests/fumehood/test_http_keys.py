"""Keys of the database over HTTP: made, revoked, and what each may ask for; and the records each may read."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from serving import Live, serving, until

from fumehood import keyholder, keys
from fumehood.keys import Grants, KeyLimits
from fumehood.settings import Settings
from fumehood.store import keys as stored
from fumehood.store.database import Database, DatabaseError
from sandbox import SetupError, Status

NOW = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
TIGHT = Grants(
    concurrency=1,
    limits=KeyLimits(wall_seconds=5),
    languages=("python",),
    networks=(),
    launcher="cold",
    rate_per_minute=1000,
)


class Keyed:
    """A service, its database, and callers with keys."""

    def __init__(self, live: Live, database: Database) -> None:
        self.live = live
        self.database = database

    def make(self, **how: Any) -> str:
        """Make a key as another program would, and give its text."""
        key, text = keys.make("test", now=NOW, **how)
        stored.add(self.database, key)
        return text

    def execute(self, key: str, **request: Any) -> httpx2.Response:
        """Run with a key."""
        return self.live.client.post("/v1/execute", json={"code": "1", **request}, headers={"X-API-Key": key})

    def get(self, key: str, path: str) -> httpx2.Response:
        """Read with a key."""
        return self.live.client.get(path, headers={"X-API-Key": key})


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


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Callers of their own."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_a_key_is_valid_from_the_moment_it_was_made(keyed: Keyed) -> None:
    """The service looks for it when it sees it; the keys of the settings work beside it."""
    assert keyed.execute(keyed.make()).status_code == 200
    assert keyed.execute("plain").status_code == 200
    assert keyed.live.problem(keyed.execute("fh_aaaabbbbcccc_x"))[:2] == (401, "unauthorized")


def test_a_revoked_key_is_refused_within_moments(keyed: Keyed) -> None:
    """And its holder is told why."""
    key = keyed.make()
    assert keyed.execute(key).status_code == 200
    stored.revoke(keyed.database, str(keys.id_in(key.encode())), NOW)
    until(lambda: keyed.execute(key).status_code == 401)
    answer = keyed.execute(key)
    assert answer.json()["detail"] == "the key was revoked"
    assert "invalid_token" in answer.headers["www-authenticate"]


def test_unknown_keys_do_not_make_the_service_ask_its_database_each_time(
    keyed: Keyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can send them."""
    monkeypatch.setattr(keyholder, "_LEAST_SECONDS", 60.0)
    asked = 0
    every = stored.every

    def count(database: Database) -> Any:
        nonlocal asked
        asked += 1
        return every(database)

    monkeypatch.setattr(stored, "every", count)
    holder = keyed.live.app.state.holder
    monkeypatch.setattr(holder, "_every_seconds", 60.0)
    time.sleep(0.2)  # the look that is due
    before = asked
    for number in range(20):
        assert keyed.execute(f"fh_aaaabbbbcccc_{number}").status_code == 401
    assert asked == before


def test_while_the_database_fails_the_known_keys_stay_valid(keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment without it must not lock everybody out."""
    key = keyed.make()
    assert keyed.execute(key).status_code == 200

    def fail(_: Database) -> None:
        raise DatabaseError("a read failed: gone")

    with monkeypatch.context() as patch:
        patch.setattr(stored, "every", fail)
        time.sleep(0.3)
        assert keyed.execute(key).status_code == 200
        assert keyed.execute("fh_aaaabbbbcccc_x").status_code == 401


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"language": "bash"}, (403, "not-allowed", ["language"])),
        ({"network": {"kind": "none"}}, (403, "not-allowed", ["network.kind"])),
        ({"limits": {"wall_seconds": 6}}, (422, "over-ceiling", ["limits.wall_seconds"])),
    ],
)
def test_what_a_key_may_not_have_is_refused_by_the_field(
    keyed: Keyed, request_: dict[str, Any], told: tuple[int, str, list[str]]
) -> None:
    """Singly, and in a batch in the run's place; nothing is run."""
    grants = TIGHT if "network" in request_ else TIGHT.model_copy(update={"networks": None})
    key = keyed.make(grants=grants)
    assert keyed.live.problem(keyed.execute(key, **request_)) == told
    body = {"runs": [{"code": "1", **request_}]}
    batch = keyed.live.client.post("/v1/execute/batch", json=body, headers={"X-API-Key": key}).json()
    assert batch["results"][0]["problem"]["errors"][0]["path"] == told[2][0]
    assert keyed.live.box.jobs == []


def test_a_key_makes_its_runs_cold_short_and_read(keyed: Keyed) -> None:
    """Without a word in the request."""
    key = keyed.make(grants=Grants(limits=KeyLimits(wall_seconds=5), launcher="cold", analysis="block"))
    assert keyed.execute(key).status_code == 200
    (job,) = keyed.live.box.jobs
    assert (job.launcher.value, job.limits.wall_seconds) == ("cold", 5)
    assert keyed.execute(key, code="eval(x)").json()["status"] == "blocked"


def test_capabilities_are_the_callers(keyed: Keyed) -> None:
    """What a program reads there it may have."""
    told = keyed.get(keyed.make(grants=TIGHT), "/v1/capabilities").json()
    assert [one["name"] for one in told["runtimes"]] == ["python"]
    assert told["limits"]["ceilings"]["wall_seconds"] == 5
    assert told["runtimes"][0]["limits"]["wall_seconds"] == 5
    assert told["networks"] == []
    assert told["concurrency"] == 1
    assert told["rate_per_minute"] == 1000
    everything = keyed.get("plain", "/v1/capabilities").json()
    assert (len(everything["runtimes"]), everything["rate_per_minute"]) == (2, None)


def test_a_rate_is_told_on_every_answer_and_held(keyed: Keyed) -> None:
    """A refusal has Retry-After; reading costs nothing."""
    key = keyed.make(grants=Grants(rate_per_minute=3))
    answers = [keyed.execute(key) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert keyed.live.problem(answers[3])[1] == "rate-limited"
    assert 15 <= int(answers[3].headers["retry-after"]) <= 20
    assert [answer.headers["ratelimit-policy"] for answer in answers] == ['"runs";q=3;w=60'] * 4
    assert [answer.headers["ratelimit"].partition(";t")[0] for answer in answers] == [
        *('"runs";r=2', '"runs";r=1', '"runs";r=0', '"runs";r=0'),
    ]
    assert keyed.get(key, "/v1/capabilities").headers["ratelimit"].startswith('"runs";r=0')
    assert "ratelimit" not in keyed.execute("plain").headers


def test_every_run_of_a_batch_counts(keyed: Keyed) -> None:
    """A batch is not a way around the rate."""
    key = {"X-API-Key": keyed.make(grants=Grants(rate_per_minute=5))}
    post = keyed.live.client.post
    assert post("/v1/execute/batch", json={"runs": [{"code": "1"}] * 4}, headers=key).status_code == 200
    assert post("/v1/execute/batch", json={"runs": [{"code": "1"}] * 2}, headers=key).status_code == 429
    key = {"X-API-Key": keyed.make(grants=Grants(rate_per_minute=5))}
    assert post("/v1/execute/batch", json={"runs": [{"code": "1"}] * 9}, headers=key).status_code == 422


def test_a_key_over_its_concurrency_waits_and_others_do_not(keyed: Keyed, threads: ThreadPoolExecutor) -> None:
    """One slot of two is left to them."""
    key = keyed.make(grants=Grants(concurrency=1, queue=1))
    first = threads.submit(keyed.execute, key, code="wait")
    assert keyed.live.box.waiting.acquire(timeout=5)
    second = threads.submit(keyed.execute, key, code="second")
    admission = keyed.live.app.state.executions._admission
    until(lambda: admission.waiting == 1)
    refused = keyed.execute(key)
    assert keyed.live.problem(refused)[:2] == (429, "queue-full")
    assert refused.headers["retry-after"]
    assert keyed.execute("plain", code="other").status_code == 200
    keyed.live.box.let_go.set()
    assert [run.result().json()["status"] for run in (first, second)] == ["ok", "ok"]
    assert [job.code for job in keyed.live.box.jobs] == ["wait", "other", "second"]


def test_a_call_whose_place_another_key_got_is_told_so(keyed: Keyed, threads: ThreadPoolExecutor) -> None:
    """429 with Retry-After, and a record that says that it was not run."""
    flood, quiet = keyed.make(), keyed.make()
    runs = [threads.submit(keyed.execute, flood, code="wait") for _ in range(2)]
    for _ in runs:
        assert keyed.live.box.waiting.acquire(timeout=5)
    admission = keyed.live.app.state.executions._admission
    for number in range(4):
        runs.append(threads.submit(keyed.execute, flood, id=f"flood-{number}"))
        until(lambda number=number: admission.waiting == number + 1)  # type: ignore[misc]
    runs.append(threads.submit(keyed.execute, quiet))
    put_out = runs[5].result()
    assert keyed.live.problem(put_out)[:2] == (429, "queue-full")
    keyed.live.box.let_go.set()
    assert [run.result().status_code for run in runs] == [200] * 5 + [429] + [200]
    told = keyed.get(flood, "/v1/executions/flood-3").json()
    assert (told["status"], told["problem"], told["usage"]) == ("failed", "queue-full", None)


# --- Records ---------------------------------------------------------------------------------------------------------


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
    keyed.live.box.script = lambda job: _result(job.code)
    for status in ("ok", "timeout", "error"):
        keyed.execute(key, code=status, id=status)
    path = "/v1/executions?status=timeout&status=error"
    assert [one["id"] for one in keyed.get(key, path).json()["executions"]] == ["error", "timeout"]
    middle = keyed.get(key, "/v1/executions/timeout").json()["accepted_at"]
    told = keyed.get(key, f"/v1/executions?since={middle.replace('+', '%2B')}").json()
    assert [one["id"] for one in told["executions"]] == ["error", "timeout"]
    assert keyed.get(key, "/v1/executions?until=2020-01-01T00:00:00Z").json()["executions"] == []


def _result(code: str) -> Any:
    from doubles import result  # noqa: PLC0415 - beside the one test that uses it

    return result(Status(code))


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
    from fumehood import audit as audits  # noqa: PLC0415
    from fumehood.store import executions  # noqa: PLC0415

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
