"""Engines under attack, one of each kind in a process of its own, and what has no control on this kernel."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from campaign import Attacks
from engines import Engine, Kind

from sandbox.model import Launcher

_OUTPUT = "calls without a control"
UNCONTROLLED = pytest.StashKey[dict[str, dict[str, str]]]()


@pytest.fixture(scope="module")
def attacks(request: pytest.FixtureRequest, runtimes_dir: Path | None) -> Iterator[Attacks]:
    """Start the engines, and on them all payloads whose tests were chosen in this file."""
    items = [item for item in request.session.items if item.path == request.path]
    params = [item.callspec.params for item in items if hasattr(item, "callspec")]
    chosen = [(each["payload"], each["launcher"]) for each in params if {"payload", "launcher"} <= each.keys()]
    controlled = [each["controlled"] for each in params if "controlled" in each]
    with contextlib.ExitStack() as scope:
        serials = itertools.count()

        def engine(meter: str, launcher: Launcher) -> Engine:
            made = Engine(Kind(meter, launcher, next(serials), runtimes_dir))
            scope.callback(made.close)
            return made

        attacks = Attacks(engine)
        attacks.start(chosen, controlled)
        yield attacks


@pytest.fixture(scope="session")
def uncontrolled(request: pytest.FixtureRequest) -> dict[str, dict[str, str]]:
    """Give where to note what this kernel answers alike without the filter: payload -> call -> answer."""
    return request.config.stash[UNCONTROLLED]


def pytest_configure(config: pytest.Config) -> None:
    """Have a place for what is told at the end."""
    config.stash[UNCONTROLLED] = {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where several processes test, give it to the one that tells."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_OUTPUT] = session.config.stash[UNCONTROLLED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take it."""
    node.config.stash[UNCONTROLLED] |= getattr(node, "workeroutput", {}).get(_OUTPUT, {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List what only the filter's data tests prove here."""
    found = {payload: calls for payload, calls in sorted(config.stash[UNCONTROLLED].items()) if calls}
    count = sum(map(len, found.values()))
    for payload, calls in found.items():
        told = ", ".join(f"{call} {answer}" for call, answer in sorted(calls.items()))
        terminalreporter.write_line(f"no control on this kernel: {payload}: {told}")
    if found:
        terminalreporter.write_line(
            f"calls without a control on this kernel, which the filter's data tests cover: {count}"
        )


@pytest.fixture(scope="module")
def engine_of(attacks: Attacks, need: Callable[[bool, str], None]) -> Callable[[str], None]:
    """Skip, or fail where all must be enforced, what needs a meter that is not here."""

    def demand(meter: str) -> None:
        why = attacks.missing(meter)
        need(not why, why or meter)

    return demand
