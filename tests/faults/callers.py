"""Callers of a service under faults, and the books: one answer for each call, one record for each accepted run."""

from __future__ import annotations

import collections
import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx2
from program import Program

CODES = (
    ("print(1)", "ok"),
    ("import time; time.sleep(0.05); print(1)", "ok"),
    ("1/0", "error"),
    ("import os; os.kill(os.getpid(), 6)", "signaled"),
)
CALLERS = 6


@dataclass
class Books:
    """What each call was answered, by the id it gave; and the ids of those who did not wait."""

    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    vanished: set[str] = field(default_factory=set)

    def count(self, status: int) -> int:
        """How many calls had that HTTP status."""
        return sum(code == status for code, _ in list(self.answers.values()))


@contextlib.contextmanager
def calling(running: Program, name: str, *, vanish: bool = True) -> Iterator[Books]:
    """Let callers come until the block ends, each with one run after the other, and one of them never waiting."""
    books, over = Books(), threading.Event()

    def call(caller: int) -> None:
        dice = random.Random(caller)  # noqa: S311 - which code, not a secret
        with httpx2.Client(base_url=running.address, timeout=60) as client:
            for number in range(100_000):
                if over.is_set():
                    return
                code, expected = CODES[dice.randrange(len(CODES))]
                run_id = f"{name}-{caller}-{number}"
                body = {"code": code, "id": run_id}
                if caller == 0 and vanish:
                    with contextlib.suppress(httpx2.TimeoutException):
                        client.post("/v1/execute", json=body, timeout=0.02)
                    books.vanished.add(run_id)
                    over.wait(0.02)
                    continue
                answer = client.post("/v1/execute", json=body)
                told = answer.json()
                books.answers[run_id] = (answer.status_code, told.get("status", ""))
                if answer.status_code == 200 and told["status"] != expected:
                    books.wrong.append(f"{run_id}: {code!r} was {told}")
                if answer.status_code != 200:
                    books.answers[run_id] = (answer.status_code, told["type"].rpartition(":")[2])
                    over.wait(0.01)

    with ThreadPoolExecutor(CALLERS) as threads:
        calls = [threads.submit(call, caller) for caller in range(CALLERS)]
        try:
            yield books
        finally:
            over.set()
        for each in calls:
            each.result()


def records(running: Program) -> dict[str, list[tuple[str, str | None]]]:
    """Give status and problem of every record, by the run's id."""
    found = collections.defaultdict(list)
    path = "/v1/executions?limit=500"
    while True:
        told = running.client.get(path).json()
        for one in told["executions"]:
            found[one["id"]].append((one["status"], one["problem"]))
        if told["next"] is None:
            return found
        path = f"/v1/executions?limit=500&cursor={told['next']}"


def balance(running: Program, books: Books, until: Callable[[Callable[[], bool]], None]) -> None:
    """See that every accepted run has one record, which says what its caller was told."""
    until(lambda: all(status != "running" for one in records(running).values() for status, _ in one))
    found = records(running)
    assert books.wrong == []
    assert {run_id: each for run_id, each in found.items() if len(each) != 1} == {}
    for run_id, (code, told) in books.answers.items():
        if code == 200:
            assert found[run_id] == [(told, None)], run_id
        elif run_id in found:
            assert found[run_id] == [("failed", told)], run_id
        else:
            assert code in {429, 503}, (run_id, code, told)
    names = {run_id.partition("-")[0] for run_id in books.answers}
    mine = {run_id for run_id in found if run_id.partition("-")[0] in names}
    assert mine <= books.answers.keys() | books.vanished
