"""Every payload of ``payloads/`` through the engine: the verdict, the canaries, what is left, an honest run after it.

A payload is a program whose leading comments say what it wants and what must become of it:

=============================  ========================================================================================
aim, wall                      what it tries; the layer that must stop it
expect, exit, signal           the status (``any`` where it is a race); the exit code; the signal's name
hits, says                     the whole of ``limits_hit``; a word that its output must hold
limits, stdin, collect         fields of ``Limits``; bytes of standard input; globs
times, at-once                 how often it is run; how many of these at once
files, skipped                 the names of all files returned; reasons that must be among the skipped
meters                         the engines it is meant for, ``cgroup watch`` where nothing is said
open                           why it succeeds today: the test must fail, and says so when it no longer does
=============================  ========================================================================================

``KEY-watch`` is said of the engine without cgroups. A payload that got what it wanted prints ``ESCAPED``.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox import Config, Job, LayerMissing, Limits, Result, Sandbox, Status

PAYLOADS = sorted(Path(__file__).with_name("payloads").glob("*.*"))
LANGUAGES = {".py": "python", ".sh": "bash"}
SECRET = "FH-CANARY-" + secrets.token_hex(8)
# A range of this process's own, so that no other engine's processes are taken for ours.
UID_BASE = 2_050_000_000 + os.getpid() % 30_000 * 64
UIDS = range(UID_BASE, UID_BASE + 64)
PATIENCE_SECONDS = 3.0


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


def cases() -> Iterator[Any]:
    """Give every payload with every meter it is meant for."""
    for path in PAYLOADS:
        for meter in ("cgroup", "watch"):
            said = header(path, meter)
            if meter in said.get("meters", "cgroup watch").split():
                why = said.get("open")
                marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
                yield pytest.param(path, meter, id=f"{path.name}-{meter}", marks=marks)


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
def boxes(canary: Canary) -> Iterator[dict[str, Sandbox | str]]:
    """Give an engine a meter, or why there is none. Made while the secret is in our environment."""
    assert canary.file.exists()
    runtimes = os.environ.get("FUMEHOOD_TEST_RUNTIMES")
    common: dict[str, Any] = {
        "runtimes_dir": Path(runtimes) if runtimes else None,
        "uid_base": UID_BASE,
        "slots": len(UIDS),
        "may_lack": frozenset({"cgroup"}),
    }
    made: dict[str, Sandbox | str] = {}
    with contextlib.ExitStack() as scope:
        for meter, parent in (("cgroup", None), ("watch", "/nonexistent")):
            try:
                box = scope.enter_context(Sandbox(Config(cgroup_parent=parent, **common)))
            except LayerMissing as missing:
                made[meter] = str(missing)
            else:
                kind = box.host.meter_kind.partition(":")[0]
                made[meter] = box if kind == meter else f"there is only the {kind} here"
        yield made


def run(box: Sandbox, path: Path, said: dict[str, str], canary: Canary) -> Result:
    """Run the payload as its header says."""
    limits = {}
    for pair in said.get("limits", "").split():
        name, _, value = pair.partition("=")
        limits[name] = float(value) if "." in value else int(value)
    return box.run(
        Job(
            code=path.read_text(encoding="utf-8"),
            language=LANGUAGES[path.suffix],
            stdin=bytes(int(said.get("stdin", "0"))),
            env={"CANARY_FILE": str(canary.file), "CANARY_PORT": str(canary.port)},
            collect=tuple(said.get("collect", "").split()),
            limits=Limits(**{"wall_seconds": 20.0, **limits}),  # type: ignore[arg-type]
        )
    )


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


def left() -> list[str]:
    """Name the living processes of our guests' uids."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = status.read_text(errors="replace")
            uid = re.search(r"^Uid:\t(\d+)", text, re.MULTILINE)
            if uid and int(uid[1]) in UIDS and "\nState:\tZ" not in text:
                found.append(text.splitlines()[0])
    return found


def threads() -> int:
    """Count our own."""
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.parametrize(("path", "meter"), list(cases()))
def test_payload(path: Path, meter: str, boxes: dict[str, Sandbox | str], canary: Canary) -> None:
    """It gets nothing, its verdict is true, nothing of it stays, and the next run is as if it had never been."""
    box = boxes[meter]
    if isinstance(box, str):
        pytest.skip(box)
    said = header(path, meter)
    before = canary.state()
    threads_before = threads()
    with ThreadPoolExecutor(int(said.get("at-once", "1"))) as pool:
        for result in pool.map(lambda _: run(box, path, said, canary), range(int(said.get("times", "1")))):
            check(result, said)
    assert canary.state() == before
    until = time.monotonic() + PATIENCE_SECONDS
    while (remains := left()) and time.monotonic() < until:
        time.sleep(0.01)
    assert remains == []
    assert threads() == threads_before
    honest = box.run(Job(code="print(6 * 7)"))
    assert (honest.status, honest.stdout, honest.stderr, honest.limits_hit) == (Status.OK, "42\n", "", ())


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: path.name)
def test_payload_says_what_it_wants(path: Path) -> None:
    """Who reads a payload sees its aim, the wall it runs against, and what must become of it."""
    said = header(path, "cgroup")
    assert {"aim", "wall", "expect"} <= said.keys()
    assert said["expect"] in {"any", *Status}
