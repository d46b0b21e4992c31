"""The engines that the contract is held against, and the faces in front of them."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from faces import Api, Http, Runner, served
from here import METERS

from sandbox import Config, Launcher, Sandbox
from sandbox.config import WarmConfig

if TYPE_CHECKING:
    import httpx2

NO_CGROUP = "/fumehood-has-no-such-group"

# The one list that every behaviour is run over: face, launcher, meter. A way that is not here is not tested.
WAYS = tuple(
    (face, launcher, meter)
    for launcher in (Launcher.COLD, Launcher.WARM)
    for face, meter in (*(("api", meter) for meter in METERS), ("http", METERS[0]))
)


@pytest.fixture(scope="session")
def config(runtimes_dir: Path | None) -> Iterator[Config]:
    """Give a configuration with a state folder, and as root guest uids, that no other service here has."""
    state = Path(tempfile.mkdtemp(prefix="fumehood-contract-"))  # not pytest's: a guest's uid could not reach it
    try:
        yield Config(
            state_dir=state,
            runtimes_dir=runtimes_dir,
            may_lack=frozenset({"cgroup"}),
            uid_base=2_100_000_000 + os.getpid() % 4096 * 64,
            slots=64,
        )
    finally:
        shutil.rmtree(state)


@pytest.fixture(scope="session")
def engine(config: Config, need: Callable[[bool, str], None]) -> Iterator[Callable[[str], Sandbox]]:
    """Give the engine with a kind of meter: the machine's cgroup, or the watch where none can be written."""
    boxes: dict[str, Sandbox] = {}
    with contextlib.ExitStack() as scope:

        def give(meter: str, warm: bool = True) -> Sandbox:  # noqa: FBT001, FBT002 - a fixture's own function
            name = meter if warm else f"{meter}, cold alone"
            if name not in boxes:
                parent = NO_CGROUP if meter == "watch" else None
                warmth = config.warm if warm else WarmConfig(enabled=False)
                boxes[name] = scope.enter_context(Sandbox(replace(config, cgroup_parent=parent, warm=warmth)))
                _warm_up(boxes[name])
            host = boxes[name].host
            need(host.meter_kind.startswith(meter), f"a {meter}: {host.meter_reason}")
            return boxes[name]

        yield give


def _warm_up(box: Sandbox) -> None:
    """Wait until every fork server has children that wait."""
    deadline = time.monotonic() + 60
    while not all(server["waiting"] for server in box.warmth):
        assert time.monotonic() < deadline, box.warmth
        time.sleep(0.05)


@pytest.fixture(scope="session")
def client(engine: Callable[[str], Sandbox]) -> Iterator[Callable[[str], httpx2.Client]]:
    """Give a client of a live service before the engine with a kind of meter."""
    clients: dict[str, httpx2.Client] = {}
    with contextlib.ExitStack() as scope:

        def give(meter: str) -> httpx2.Client:
            if meter not in clients:
                clients[meter] = scope.enter_context(served(engine(meter)))
            return clients[meter]

        yield give


@pytest.fixture(scope="session", params=WAYS, ids=lambda way: "-".join((way[0], way[1].value, way[2])))
def runner(
    request: pytest.FixtureRequest,
    engine: Callable[[str], Sandbox],
    client: Callable[[str], httpx2.Client],
) -> Runner:
    """Give each way to run a job in turn."""
    face, launcher, meter = request.param
    box = engine(meter)
    return Api(box, launcher) if face == "api" else Http(box, launcher, client(meter))


@pytest.fixture(params=METERS)
def box(request: pytest.FixtureRequest, engine: Callable[..., Sandbox]) -> Sandbox:
    """Give an engine without fork servers, with each kind of meter, for what only its Python face shows."""
    return engine(request.param, warm=False)


@pytest.fixture(params=METERS)
def warm_box(request: pytest.FixtureRequest, engine: Callable[..., Sandbox]) -> Sandbox:
    """Give the engine with fork servers, with each kind of meter."""
    return engine(request.param)
