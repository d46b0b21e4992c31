"""The probes: each passes behind the walls, and none could pass without its own."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox import Config, Preload, Sandbox, SetupError, WarmConfig, selfcheck
from sandbox.zygote import Zygotes


@pytest.fixture(scope="module")
def config(runtimes_dir: Path | None) -> Iterator[Config]:
    """Give a configuration with a state folder of its own."""
    state = Path(tempfile.mkdtemp(prefix="fumehood-selfcheck-"))
    yield Config(
        state_dir=state,
        runtimes_dir=runtimes_dir,
        may_lack=frozenset({"cgroup"}),
        warm=WarmConfig(preloads=(Preload("bare", ()),)),
        uid_base=2_050_000_000 + os.getpid() % 4096 * 64,
        slots=64,
    )
    shutil.rmtree(state)


@pytest.fixture(scope="module")
def segment() -> Iterator[None]:
    """Share memory on the host, which a process beside us sees and no guest."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.shmget(0, 4096, 0o600)  # IPC_PRIVATE
    assert made >= 0
    yield
    libc.shmctl(made, 0, None)  # IPC_RMID


@pytest.fixture(scope="module")
def unconfined(segment: None) -> list[Any]:  # noqa: ARG001 - it must be there
    """Give what the same expressions get in a plain process beside us, with the same facts.

    Nothing of the machine may be changed where nothing forbids it: the files that would be written are in a folder of
    ours. In place of its init the process tries its parent, and a connection outwards may wait only a moment.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener, tempfile.TemporaryDirectory() as scratch:
        snippet = selfcheck._SNIPPET.replace("answers = []", "answers = []\nsocket.setdefaulttimeout(0.2)", 1)
        snippet = re.sub(
            r"readonly = .*", f"readonly = [{scratch!r} + name for name in ('/a', '/b', '/c', '/d')]", snippet
        )
        facts = {
            "hidden": [path for path in ("/root", "/home", "/var/lib", "/sys", "/boot") if Path(path).exists()],
            "port": listener.getsockname(),
            "expressions": [
                probe.expression.replace("/proc/1/", f"/proc/{os.getpid()}/") for probe in selfcheck._PROBES
            ],
        }
        done = subprocess.run(
            [sys.executable, "-c", snippet], input=json.dumps(facts), capture_output=True, text=True, check=True
        )
    answers: list[Any] = json.loads(done.stdout)
    return answers


# What a plain process gets an equal answer to, and why; all others must differ.
SAME_OUTSIDE = {
    "no address outside is reachable": "a machine that has no route says the same; the probe of the interfaces differs",
    "an unknown call is refused": "the kernel itself does not know the call; the probe of a known one differs",
}
if {name for _, name in socket.if_nameindex()} == {"lo"}:
    SAME_OUTSIDE["the network is loopback alone"] = "this machine has no other either"
TELLING = [probe for probe in selfcheck._PROBES if probe.name not in SAME_OUTSIDE]


@pytest.mark.parametrize("probe", TELLING, ids=lambda probe: probe.name)
def test_no_probe_passes_without_its_layer(unconfined: list[Any], probe: Any) -> None:
    """Unconfined, the same expression gets another answer."""
    assert unconfined[selfcheck._PROBES.index(probe)] != probe.wanted


def test_every_layer_has_a_probe_that_tells() -> None:
    """Those that may get the same answer outside are never a layer's only ones."""
    assert {probe.name for probe in selfcheck._PROBES} >= SAME_OUTSIDE.keys()
    assert {probe.layer for probe in TELLING} == {probe.layer for probe in selfcheck._PROBES}


def test_all_holds_here(config: Config) -> None:
    """Every check of doctor and /readyz, each with a name of its own, and every promised layer among them."""
    findings = selfcheck.examine(config)
    assert [finding for finding in findings if finding.required and not finding.held] == []
    optional = {finding.name for finding in findings if not finding.required}
    assert optional - {"cgroup is missing, as accepted"} == {"runs can be warm", "fork server bare"}
    assert len({finding.name for finding in findings}) == len(findings)
    layers = {finding.layer for finding in findings if finding.held}
    assert layers >= {"user", "pid", "mount", "net", "ipc", "uts", "seccomp", "no_new_privs"}
    assert all(finding.remedy == "" for finding in findings if finding.held)


def test_a_missing_cgroup_is_told_and_does_not_fail(config: Config) -> None:
    """Accepted by the operator: said with its reason and what would mend it."""
    findings = selfcheck.examine(replace(config, cgroup_parent="/fumehood-has-no-such-group"))
    (missing,) = [finding for finding in findings if not finding.held and "warm" not in finding.name]
    assert (missing.layer, missing.required) == ("cgroup", False)
    assert "fumehood-has-no-such-group" in missing.detail
    assert "unix sockets" in missing.detail
    assert missing.remedy


def test_why_runs_are_cold_is_told_and_does_not_fail(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the host refuses a fork server: its word, and what would mend it. Switched off is told as that."""

    def refuse(*_: object) -> None:
        raise SetupError("fork server", errno.EPERM)

    monkeypatch.setattr(Zygotes, "_start", refuse)
    warm, server = selfcheck._warmth(config)
    assert (warm.held, warm.required, server.held, server.required) == (False, False, False, False)
    assert warm.detail == server.detail == "fork server: Operation not permitted"
    assert warm.remedy
    (off,) = selfcheck._warmth(replace(config, warm=WarmConfig(enabled=False)))
    assert (off.name, off.held, off.required, off.detail) == (warm.name, False, False, "switched off")


@pytest.mark.parametrize(
    ("changed", "layer"),
    [
        ({"cgroup_parent": "/fumehood-has-no-such-group", "may_lack": frozenset()}, "cgroup"),
        ({"bwrap": Path("/no/such/bwrap")}, "mount"),
        ({"runtimes_dir": Path("/no/such/runtimes")}, "runtime"),
    ],
    ids=["cgroup", "bwrap", "runtime"],
)
def test_an_engine_that_cannot_start_is_a_finding(config: Config, changed: dict[str, Any], layer: str) -> None:
    """The layer is named and so is the remedy; nothing raises."""
    (finding,) = selfcheck.examine(replace(config, **changed))
    assert (finding.name, finding.layer, finding.held, finding.required) == ("the engine starts", layer, False, True)
    assert finding.remedy


def test_a_probe_that_does_not_hold_is_told(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it got: a wall that fell is never reported as standing."""
    probe = replace(selfcheck._PROBES[0], wanted=[0, 0])
    monkeypatch.setattr(selfcheck, "_PROBES", (probe, *selfcheck._PROBES[1:]))
    with Sandbox(config) as box:
        (finding,) = [finding for finding in selfcheck.ready(box) if finding.required and not finding.held]
    assert (finding.layer, finding.detail) == ("user", "it got [1000, 1000]")
    assert finding.remedy


def test_a_probe_that_does_not_hold_for_a_warm_run_is_told(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor holds the runs of fork servers against the same probes, and fails for them as for cold ones."""
    probe = replace(selfcheck._PROBES[0], wanted=[0, 0])
    monkeypatch.setattr(selfcheck, "_PROBES", (probe, *selfcheck._PROBES[1:]))
    (finding,) = [finding for finding in selfcheck._warmth(config) if finding.required]
    assert (finding.name, finding.layer, finding.held) == (f"warm: {probe.name}", "user", False)
    assert finding.remedy


@pytest.mark.parametrize(
    ("pattern", "limit", "held"),
    [
        ("core", 0, True),
        ("|/usr/bin/handler %P", 1, True),
        ("|/usr/bin/handler %P", 0, False),
        ("@/run/handler.socket", 1, False),
    ],
)
def test_who_takes_cores_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
    limit: int,
    held: bool,  # noqa: FBT001 - a parameter
) -> None:
    """A program that a crash starts on the host is said, with what would mend it, unless no guest can start it."""
    (tmp_path / "core_pattern").write_text(f"{pattern}\n")
    monkeypatch.setattr(selfcheck, "_CORE_PATTERN", tmp_path / "core_pattern")
    box: Any = SimpleNamespace(run=lambda _job: SimpleNamespace(stdout=f"{limit}\n"))
    finding = selfcheck._cores(box)
    assert (finding.held, finding.required) == (held, held)
    assert ("handler" in finding.detail) == (pattern != "core")
    assert bool(finding.remedy) is not held
