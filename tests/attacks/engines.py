"""An engine under attack, in a process of its own: runs payloads one after the other, and looks after each.

A process for each engine, so that what a run leaves (descriptors, threads) is known to be that engine's, and so that a
payload that ends the service is seen. :class:`Engine` is the tests' side.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import canaries
import census
import weakened
from here import PACE, paced
from payload import Payload

from sandbox import Config, InputFile, Job, LayerMissing, Limits, Result, Sandbox, SandboxError
from sandbox.config import WarmConfig
from sandbox.confine.seccomp.machines import MACHINES
from sandbox.model import Launcher

_SLOTS = 64
_FLOOD_BYTES = 16 << 20
_WARM_SECONDS = 60.0
_NO_CGROUP = "/fumehood-has-no-such-group"
_CALLS = Path(__file__).with_name("calls.py")
_HONEST = "import sys\nprint(6 * 7)\n"


@dataclass(frozen=True)
class Outcome:
    """What became of one payload: a result or our failure for each time it ran, and of the honest run after it."""

    results: tuple[Result | str, ...]
    honest: Result | str | None
    left: str
    touches: tuple[str, ...]
    secret: str


@dataclass(frozen=True)
class Kind:
    """Which engine: a meter and a launcher; ``serial`` keeps the uids of those that live at once apart."""

    meter: str
    launcher: Launcher
    serial: int
    runtimes_dir: Path | None

    def config(self, state_dir: Path | None = None) -> Config:
        """Give how it is configured."""
        return Config(
            state_dir=state_dir,
            cgroup_parent=None if self.meter == "cgroup" else _NO_CGROUP,
            runtimes_dir=self.runtimes_dir,
            uid_base=1_900_000_000 + (os.getppid() % 60_000 * 16 + self.serial) * _SLOTS,
            slots=_SLOTS,
            flood_bytes=_FLOOD_BYTES,
            may_lack=frozenset({"cgroup"}),
            warm=WarmConfig(enabled=self.launcher is Launcher.WARM, preloads=WarmConfig().preloads[:2], depth=2),
        )


class Engine:
    """The way to an engine's process; ``missing`` says why there is none on this machine."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _start, (kind,))
        self._missing: Future[str] = self._pool.submit(_missing)

    @property
    def missing(self) -> str:
        """Why this machine has no such engine; empty where it has."""
        return self._missing.result()

    def attack(self, payload: Payload) -> Future[Outcome]:
        """Run it as often as it says, then an honest program; look what is left."""
        return self._pool.submit(_attack, payload)

    def controls(self, payloads: list[Payload]) -> Future[dict[Payload, Outcome]]:
        """Run each with its layer off, which is the same for all."""
        return self._pool.submit(_controls, payloads)

    def close(self) -> None:
        """End the process."""
        self._pool.shutdown(cancel_futures=True)


# --- inside the engine's process -------------------------------------------------------------------------------------


class _Bench:
    """What the process holds."""

    kind: Kind
    config: Config
    canary: canaries.Canary
    box: Sandbox | None = None
    missing = ""
    standing: census.Census
    scope: contextlib.ExitStack


_bench = _Bench()


def _start(kind: Kind) -> None:
    scope = _bench.scope = contextlib.ExitStack()
    if os.geteuid() != 0:
        census.adopt_orphans()
    _bench.kind = kind
    _bench.canary = scope.enter_context(canaries.laid())  # the service that then starts has it in its environment
    # Not pytest's folder: a guest's uid could not reach it.
    _bench.config = kind.config(Path(scope.enter_context(tempfile.TemporaryDirectory(prefix="fumehood-attacks-"))))
    multiprocessing.util.Finalize(None, scope.close, exitpriority=100)
    try:
        box = scope.enter_context(Sandbox(_bench.config))
    except LayerMissing as missing:
        _bench.missing = str(missing)
        return
    if box.host.meter_kind.partition(":")[0] != kind.meter:
        _bench.missing = f"there is only the {box.host.meter_kind} here: {box.host.meter_reason}"
        return
    _bench.box = box
    _settle(box)
    box.run(_job(_HONEST, "python"))  # what the first run alone makes
    _settle(box)
    _bench.standing = census.take(box)


def _missing() -> str:
    return _bench.missing


def _settle(box: Sandbox) -> None:
    """Wait until each fork server has all its children."""
    until = time.monotonic() + _WARM_SECONDS
    while not all(each["waiting"] == box.config.warm.depth for each in box.warmth):
        if time.monotonic() > until:
            raise RuntimeError(f"the fork servers do not come up: {box.warmth}")
        time.sleep(0.01)
    time.sleep(0.05)  # what was lent may not be gone yet
    census.difference(box, census.take(box))


def _attack(payload: Payload) -> Outcome:
    assert _bench.box is not None
    return _outcome(_bench.box, payload, _bench.standing)


def _outcome(box: Sandbox, payload: Payload, standing: census.Census | None, **changed: Any) -> Outcome:
    _bench.canary.rest()
    job = _job(payload.code, payload.language, payload, **changed)
    with ThreadPoolExecutor(int(payload.said.get("at-once", "1"))) as pool:
        results = tuple(pool.map(lambda _: _run(box, job), range(int(payload.said.get("times", "1")))))
    honest = _run(box, _job(_HONEST, "python")) if standing else None
    return Outcome(
        results,
        honest,
        census.difference(box, standing) if standing else "",
        tuple(_bench.canary.touches()),
        _bench.canary.secret,
    )


def _run(box: Sandbox, job: Job) -> Result | str:
    try:
        return box.run(job)
    except SandboxError as error:
        return f"{type(error).__name__}: {error}"


def _job(code: str, language: str, payload: Payload | None = None, **changed: Any) -> Job:
    """Give the job of a program, as the payload's header says, with fields of ``Limits`` or variables changed."""
    said = payload.said if payload else {}
    numbers = f"NUMBERS = {dict(MACHINES[os.uname().machine].numbers)!r}\n"
    calls = (InputFile("calls.py", (numbers + _CALLS.read_text()).encode()),) if "from calls import" in code else ()
    own = {**(payload.limits() if payload else {}), **changed.get("limits", {})}
    limits = Limits(**{"wall_seconds": 20.0, **own})
    return Job(
        code=code * changed.get("times", 1),
        language=language,
        stdin=bytes(int(said.get("stdin", "0"))),
        env={**_bench.canary.environment, **changed.get("env", {}), "PACE": str(PACE)},
        files=calls,
        collect=tuple(said.get("collect", "").split()),
        limits=paced(limits) if "paced" in said or not {"wall_seconds", "cpu_seconds"} & own.keys() else limits,
        launcher=Launcher.COLD if _bench.kind.launcher is Launcher.COLD else Launcher.AUTO,
    )


def _living(box: Sandbox) -> set[int]:
    uids = range(box.config.uid_base, box.config.uid_base + box.config.slots)
    return set(census.living(uids if box.host.as_root else range(0)))


def _clear(box: Sandbox, before: set[int]) -> None:
    """End what a run has left that nothing ended."""
    for pid in _living(box) - before:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _controls(payloads: list[Payload]) -> dict[Payload, Outcome]:
    """Run the controls of payloads that lack the same layer, in one engine."""
    word, layer = payloads[0].control
    done: dict[Payload, Outcome] = {}
    with _engine_without(layer if word == "without" else "") as box:
        for payload in payloads:
            standing = census.take(box) if payload.freed[0] == "left" else None
            before = _living(box)
            done[payload] = _outcome(box, payload, standing, **_changes(payload))
            _clear(box, before)
    return done


@contextlib.contextmanager
def _engine_without(layer: str) -> Iterator[Sandbox]:
    if not layer:
        assert _bench.box is not None
        yield _bench.box
        return
    config = replace(_bench.config, warm=WarmConfig(enabled=False))
    with weakened.weakened(layer, config, _bench.canary.file.parent) as box:
        yield box


def _changes(payload: Payload) -> dict[str, Any]:
    match payload.control[0]:
        case "limits":
            return {"limits": payload.limits("control")}
        case "twice":
            return {"times": 2}
        case "given":
            return {"env": {"GIVEN": _bench.canary.secret}}
        case _:
            return {}
