"""The service killed and stopped under load, as a program over the real engine: every run is accounted for."""

from __future__ import annotations

import collections
import dataclasses
import signal
import threading
import time
from pathlib import Path

import httpx2
import postgres
import pytest
from program import Program, program
from serving import until

CODES = ("print(1)", "import time; time.sleep(0.05)", "1/0", "import time; time.sleep(30)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, state: Path) -> str:
    """Name a database that outlives the service."""
    if request.param == "sqlite":
        return f"sqlite:///{state}/data/fumehood.db"
    server: postgres.Server = request.getfixturevalue("postgres_server")
    return server.database()


@dataclasses.dataclass
class Seen:
    """What callers were answered, by the ids they gave, and the ids that were sent and not answered."""

    answered: dict[str, str] = dataclasses.field(default_factory=dict)
    unanswered: set[str] = dataclasses.field(default_factory=set)
    refused: set[str] = dataclasses.field(default_factory=set)


def crowd(running: Program, seen: Seen, over: threading.Event) -> list[threading.Thread]:
    """Eight callers, each with one run after the other, some of them long."""

    def call(name: int) -> None:
        with httpx2.Client(base_url=running.address, timeout=60) as client:
            for number in range(10_000):
                if over.is_set():
                    return
                run_id = f"{name}-{number}"
                # Half of them wait for a slot; now and then one stays.
                code = CODES[3] if name == 0 and number == 3 else CODES[number % 3]
                try:
                    answer = client.post("/v1/execute", json={"code": code, "id": run_id})
                except httpx2.TransportError:
                    seen.unanswered.add(run_id)
                    return
                if answer.status_code == 200:
                    seen.answered[run_id] = answer.json()["status"]
                else:
                    assert answer.status_code == 503, answer.text
                    seen.refused.add(run_id)
                    return

    threads = [threading.Thread(target=call, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    return threads


def records(running: Program) -> dict[str, list[str]]:
    """Give every record's status, by the run's id."""
    found = collections.defaultdict(list)
    path = "/v1/executions?limit=500"
    while True:
        told = running.client.get(path).json()
        for one in told["executions"]:
            found[one["id"]].append(one["status"])
        if told["next"] is None:
            return found
        path = f"/v1/executions?limit=500&cursor={told['next']}"


@pytest.fixture
def service(state: Path, database: str) -> dict[str, object]:
    """Say how the service is started, each time alike."""
    return {"state": state, "data_dir": str(state / "data"), "database": database, "concurrency": "4"}


def test_after_sigkill_every_run_that_was_accepted_has_one_record(service: dict[str, object]) -> None:
    """What was answered is recorded as it was answered; what was under way is lost; nothing is there twice."""
    seen, over = Seen(), threading.Event()
    with program(**service) as running:  # type: ignore[arg-type]
        callers = crowd(running, seen, over)
        until(lambda: len(seen.answered) > 60)
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
        over.set()
        for caller in callers:
            caller.join()
    assert seen.unanswered
    with program(**service) as running:  # type: ignore[arg-type]
        found = records(running)
        assert running.stop() == 0
    assert {name: statuses for name, statuses in found.items() if len(statuses) != 1} == {}
    assert {name: found[name][0] for name in seen.answered} == seen.answered
    rest = set(found) - set(seen.answered)
    assert rest <= seen.unanswered
    # An answer may be on record though the kill kept it from its caller.
    assert {found[name][0] for name in rest} <= {"lost", "ok", "error"}
    assert found["0-3"] == ["lost"]


def test_after_sigterm_every_run_has_its_answer_and_one_record(service: dict[str, object]) -> None:
    """Under load: what was accepted is answered, what was not is 503, and the service ends with 0 in its grace."""
    seen, over = Seen(), threading.Event()
    with program(**service, shutdown_grace_seconds="4") as running:  # type: ignore[arg-type]
        callers = crowd(running, seen, over)
        until(lambda: len(seen.answered) > 60)
        began = time.monotonic()
        assert running.stop() == 0
        # The engine and the fork servers end after the HTTP service has.
        assert time.monotonic() - began < 6
        over.set()
        for caller in callers:
            caller.join()
    with program(**service) as running:  # type: ignore[arg-type]
        found = records(running)
        assert running.stop() == 0
    assert {name: statuses[0] for name, statuses in found.items()} == seen.answered
    assert {len(statuses) for statuses in found.values()} == {1}
    # Whoever called when the door was shut already was refused by the kernel, and by us before that.
    assert len(seen.refused) + len(seen.unanswered) == 8
    assert seen.answered["0-3"] == "cancelled"


def test_a_call_with_a_key_is_not_run_again_after_a_kill(service: dict[str, object]) -> None:
    """Whether it ran is not known, so the caller is told that and nothing is run."""
    headers = {"Idempotency-Key": '"once"'}
    body = {"code": "import time; time.sleep(60)"}
    with program(**service) as running:  # type: ignore[arg-type]
        answer = running.client.post("/v1/execute", json={"code": "print(7)"}, headers={"Idempotency-Key": '"done"'})
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{running.address}/v1/execute", json=body, headers=headers, timeout=1)
        running.process.send_signal(signal.SIGKILL)
        running.process.wait()
    with program(**service) as running:  # type: ignore[arg-type]
        again = running.client.post("/v1/execute", json=body, headers=headers)
        assert (again.status_code, again.json()["type"]) == (409, "urn:fumehood:problem:call-lost")
        replayed = running.client.post("/v1/execute", json={"code": "print(7)"}, headers={"Idempotency-Key": '"done"'})
        assert replayed.content == answer.content
        assert sorted(status for [status] in records(running).values()) == ["lost", "ok"]
        assert running.stop() == 0
