"""Keys of the database over HTTP: made, revoked, and what each may ask for; and the records each may read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from keyed import NOW, Keyed
from serving import until

from fumehood import keyholder, keys
from fumehood.keys import Grants, KeyLimits
from fumehood.store import keys as stored
from fumehood.store.database import Database, DatabaseError

TIGHT = Grants(
    concurrency=1,
    limits=KeyLimits(wall_seconds=5),
    languages=("python",),
    networks=(),
    launcher="cold",
    rate_per_minute=1000,
)


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
    until(lambda: asked == 1)  # the look that was due already; the next is in a minute
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
