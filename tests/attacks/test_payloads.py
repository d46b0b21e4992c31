"""Every payload of ``payloads/`` through the engine: the verdict, the canaries, what is left, an honest run after it.

A payload is a program whose leading comments say what it wants and what must become of it:

=============================  ========================================================================================
aim, wall                      what it tries; the layer that must stop it
expect, exit, signal           the status (``any`` where it is a race); the exit code; the signal's name
hits, says                     the whole of ``limits_hit``; a word that its output must hold
limits, stdin, collect         fields of ``Limits``; bytes of standard input; globs
times, at-once                 how often it is run; how many of these at once
alone                          it takes so much of the machine that others beside it would get another verdict
files, skipped                 the names of all files returned; reasons that must be among the skipped
meters                         the engines it is meant for, ``cgroup watch`` where nothing is said
open                           why it succeeds today: the test must fail, and says so when it no longer does
=============================  ========================================================================================

``KEY-watch`` is said of the engine without cgroups. A payload that got what it wanted prints ``ESCAPED``.

Each is run by every engine: by each meter, and by each launcher that is named in ``LAUNCHERS``. Those that are not to
be alone start when the first test asks for its result, three at a time.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox import Config, Job, LayerMissing, Limits, Result, Sandbox, Status
from sandbox.config import WarmConfig
from sandbox.model import Launcher

METERS = ("cgroup", "watch")
LAUNCHERS = (Launcher.COLD, Launcher.WARM)
PAYLOADS = sorted(Path(__file__).with_name("payloads").glob("*.*"))
LANGUAGES = {".py": "python", ".sh": "bash"}
SECRET = "FH-CANARY-" + secrets.token_hex(8)
# Ranges of this process's own, one an engine, so that no other engine's processes are taken for ours.
UIDS_EACH = 64
UID_BASE = 2_050_000_000 + os.getpid() % 30_000 * UIDS_EACH * 4
AT_ONCE = 3
PATIENCE_SECONDS = 5.0
WARM_SECONDS = 30.0


@dataclass(frozen=True)
class Canary:
    """What no payload may read or change."""

    file: Path
    port: int

    def state(self) -> tuple[Any, ...]:
        """Give all that would show a touch."""
        status = self.file.stat()
        beside = sorted(path.name for path in self.file.parent.iterdir())
        return self.file.read_text(), status.st_mtime_ns, status.st_mode, status.st_nlink, beside


def header(path: Path, meter: str) -> dict[str, str]:
    """Give what the payload's comments say for this meter."""
    lines = path.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    said = dict(line.removeprefix("# ").split(": ", 1) if ": " in line else (line[2:-1], "") for line in lines)
    own = {key.removesuffix("-watch"): value for key, value in said.items() if key.endswith("-watch")}
    return {**said, **(own if meter == "watch" else {})}


@dataclass(frozen=True)
class Case:
    """One payload for one engine."""

    path: Path
    meter: str
    launcher: Launcher

    @property
    def said(self) -> dict[str, str]:
        """What its header says for this meter."""
        return header(self.path, self.meter)

    @property
    def alone(self) -> bool:
        """Whether nothing may run beside it."""
        return bool({"alone", "at-once"} & self.said.keys())


def cases() -> Iterator[Any]:
    """Give every payload with every engine it is meant for, those last that run alone."""
    every = [Case(path, meter, launcher) for launcher in LAUNCHERS for meter in METERS for path in PAYLOADS]
    for case in sorted(every, key=lambda case: case.alone):
        if case.meter in case.said.get("meters", "cgroup watch").split():
            why = case.said.get("open")
            marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
            yield pytest.param(case, id=f"{case.path.name}-{case.meter}-{case.launcher}", marks=marks)


@dataclass(frozen=True)
class Engine:
    """An engine, the uids of its guests, and what stands while it does nothing; or why there is none."""

    box: Sandbox | str
    uids: range
    standing: list[str]


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canary]:
    """Lay a secret file, a secret variable of the service, and a listener on the host's loopback."""
    folder = tmp_path_factory.mktemp("secrets")
    folder.chmod(0o777)
    file = folder / "secret"
    file.write_text(SECRET)
    file.chmod(0o666)
    os.environ["FUMEHOOD_TEST_SECRET"] = SECRET
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Canary(file, listener.getsockname()[1])
    del os.environ["FUMEHOOD_TEST_SECRET"]


@pytest.fixture(scope="module")
def engines(canary: Canary) -> Iterator[dict[tuple[str, Launcher], Engine]]:
    """Give an engine for each meter and launcher. Made while the secret is in our environment."""
    assert canary.file.exists()
    made = {}
    with contextlib.ExitStack() as scope:
        for launcher in LAUNCHERS:
            for meter in METERS:
                base = UID_BASE + len(made) * UIDS_EACH
                made[meter, launcher] = engine(scope, meter, launcher, range(base, base + UIDS_EACH))
        yield made


def engine(scope: contextlib.ExitStack, meter: str, launcher: Launcher, uids: range) -> Engine:
    """Start one, and wait until it is as it will be between runs."""
    runtimes = os.environ.get("FUMEHOOD_TEST_RUNTIMES")
    warm = WarmConfig(enabled=launcher is Launcher.WARM, preloads=WarmConfig().preloads[:2])
    config = Config(
        cgroup_parent=None if meter == "cgroup" else "/nonexistent",
        runtimes_dir=Path(runtimes) if runtimes else None,
        uid_base=uids.start,
        slots=len(uids),
        may_lack=frozenset({"cgroup"}),
        warm=warm,
    )
    try:
        box = scope.enter_context(Sandbox(config))
    except LayerMissing as missing:
        return Engine(str(missing), uids, [])
    kind = box.host.meter_kind.partition(":")[0]
    if kind != meter:
        return Engine(f"there is only the {kind} here", uids, [])
    until = time.monotonic() + WARM_SECONDS
    while warm.enabled and not all_wait(box):
        assert time.monotonic() < until, box.warmth
        time.sleep(0.05)
    return Engine(box, uids, living(uids))


def all_wait(box: Sandbox) -> bool:
    """Whether each fork server has all its children at hand."""
    return all(each["waiting"] == box.config.warm.depth for each in box.warmth)


def run(box: Sandbox, case: Case, canary: Canary) -> Result:
    """Run the payload as its header says."""
    said = case.said
    limits = {}
    for pair in said.get("limits", "").split():
        name, _, value = pair.partition("=")
        limits[name] = float(value) if "." in value else int(value)
    return box.run(
        Job(
            code=case.path.read_text(encoding="utf-8"),
            language=LANGUAGES[case.path.suffix],
            stdin=bytes(int(said.get("stdin", "0"))),
            env={"CANARY_FILE": str(canary.file), "CANARY_PORT": str(canary.port)},
            collect=tuple(said.get("collect", "").split()),
            limits=Limits(**{"wall_seconds": 20.0, **limits}),  # type: ignore[arg-type]
            launcher=Launcher.COLD if case.launcher is Launcher.COLD else Launcher.AUTO,
        )
    )


def attack(box: Sandbox, case: Case, canary: Canary) -> tuple[list[Result], Result]:
    """Run it as often as it says, then an honest program."""
    times = int(case.said.get("times", "1"))
    with ThreadPoolExecutor(int(case.said.get("at-once", "1"))) as pool:
        results = list(pool.map(lambda _: run(box, case, canary), range(times)))
    return results, box.run(Job(code="print(6 * 7)"))


def check(result: Result, said: dict[str, str]) -> None:
    """Compare the verdict with what the header demands."""
    told = f"{result.status} {result.limits_hit} {result.signal}\n{result.stdout[:2000]}\n{result.stderr[-2000:]}"
    everything = result.stdout + result.stderr + repr(result.files) + repr(result.files_skipped)
    assert "ESCAPED" not in everything, told
    assert SECRET not in everything, told
    assert said["expect"] in ("any", result.status.value), told
    if "exit" in said:
        assert result.exit_code == int(said["exit"]), told
    if "signal" in said:
        assert result.signal is not None, told
        assert re.search(rf"{said['signal']}$", result.signal), told
    if "hits" in said:
        assert list(result.limits_hit) == said["hits"].split(), told
    if "files" in said:
        assert [file.path for file in result.files] == said["files"].split(), told
    assert said.get("says", "") in everything, told
    assert set(said.get("skipped", "").split()) <= {each.reason.value for each in result.files_skipped}, told


def living(uids: range) -> list[str]:
    """Name the living processes that run under one of the uids."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = status.read_text(errors="replace")
            uid = re.search(r"^Uid:\t(\d+)", text, re.MULTILINE)
            if uid and int(uid[1]) in uids and "\nState:\tZ" not in text:
                found.append(text.splitlines()[0])
    return sorted(found)


def threads() -> int:
    """Count our own."""
    return len(list(Path("/proc/self/task").iterdir()))


def nothing_is_left(engine: Engine) -> None:
    """What stands is what stood before."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (alive := living(engine.uids)) != engine.standing and time.monotonic() < until:
        time.sleep(0.02)
    assert alive == engine.standing


Attacks = dict[Case, Future[tuple[list[Result], Result]]]


@pytest.fixture(scope="module")
def attacks(
    request: pytest.FixtureRequest, engines: dict[tuple[str, Launcher], Engine], canary: Canary
) -> Iterator[Attacks]:
    """Start all that may run beside others, and have the tests pick up the results."""
    chosen = [item.callspec.params["case"] for item in request.session.items if "case" in names_of(item)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = {}
        for case in chosen:
            box = engines[case.meter, case.launcher].box
            if not case.alone and isinstance(box, Sandbox):
                started[case] = pool.submit(attack, box, case, canary)
        yield started


def names_of(item: Any) -> set[str]:
    """Name the parameters of a collected test of this file."""
    return set(item.callspec.params) if item.path == Path(__file__) and hasattr(item, "callspec") else set()


@pytest.mark.parametrize("case", list(cases()))
def test_payload(case: Case, engines: dict[tuple[str, Launcher], Engine], attacks: Attacks, canary: Canary) -> None:
    """It gets nothing, its verdict is true, nothing of it stays, and the next run is as if it had never been."""
    engine = engines[case.meter, case.launcher]
    if isinstance(engine.box, str):
        pytest.skip(engine.box)
    before = canary.state()
    if case.alone:
        wait(attacks.values())
        threads_before = threads()
        results, honest = attack(engine.box, case, canary)
        nothing_is_left(engine)
        assert threads() == threads_before
    else:
        results, honest = attacks[case].result()
    for result in results:
        check(result, case.said)
    assert {result.launcher for result in results} >= {case.launcher}
    assert canary.state() == before
    assert (honest.status, honest.stdout, honest.stderr, honest.limits_hit) == (Status.OK, "42\n", "", ())


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("meter", METERS)
def test_nothing_of_all_these_is_left(
    meter: str, launcher: Launcher, engines: dict[tuple[str, Launcher], Engine], attacks: Attacks
) -> None:
    """No process of any of those that ran beside others."""
    wait(attacks.values())
    nothing_is_left(engines[meter, launcher])


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: path.name)
def test_payload_says_what_it_wants(path: Path) -> None:
    """Who reads a payload sees its aim, the wall it runs against, and what must become of it."""
    said = header(path, "cgroup")
    assert {"aim", "wall", "expect"} <= said.keys()
    assert said["expect"] in {"any", *Status}
