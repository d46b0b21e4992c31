"""What is found on the machine, and what is said where something is missing."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

import pytest

from sandbox import host
from sandbox.config import Config
from sandbox.errors import LayerMissing, SetupError
from sandbox.model import RuntimeKind

FACTS = {
    "version": "3.11.2",
    "interpreter": "bin/python3",
    "prefix": "/var/lib/x/python",
    "mounted_at": "/opt/python",
    "extra_read_only": ["/extra"],
    "environment": {"A": "b"},
    "packages": {"numpy": "2"},
    "links": {"/tmp/l": "/opt/python/l"},
}


@pytest.fixture
def runtimes(tmp_path: Path) -> Path:
    """Give a folder with a runtime described in it."""
    (tmp_path / "python.json").write_text(json.dumps(FACTS))
    return tmp_path


def test_a_host_is_described_by_facts(runtimes: Path, tmp_path: Path) -> None:
    """Languages with versions, what bwrap shows and what init passes on; nothing is open or running."""
    found = host.probe(Config(runtimes_dir=runtimes), tmp_path / "stage", "cgroup:v2", "")
    assert set(found.runtimes) == {"python", "bash"}
    python, bash = found.runtimes["python"], found.runtimes["bash"]
    assert (python.kind, python.command, python.version) == (RuntimeKind.PYTHON, (), "python 3.11.2")
    assert (bash.kind, bash.command) == (RuntimeKind.EXEC, ("/usr/bin/bash",))
    assert re.fullmatch(r"bash \d+\.\d+\.\d+", bash.version)
    assert python.links == (("/tmp/l", "/opt/python/l"),)
    assert found.init[0] == "/opt/python/bin/python3"
    shown = {(bind.source, bind.target) for bind in found.binds}
    assert shown >= {
        ("/usr", "/usr"),
        ("/var/lib/x/python", "/opt/python"),
        ("/extra", "/extra"),
        (str(tmp_path / "stage/etc"), "/etc"),
        (str(tmp_path / "stage/guest.bin"), host.GUEST_CODE),
    }
    passed_on = {bind.target for bind in found.guest_binds}
    assert passed_on == {bind.target for bind in found.binds} - {host.GUEST_CODE}
    assert found.cpu_numbers == tuple(sorted(os.sched_getaffinity(0)))


@pytest.mark.parametrize(("soft", "enough"), [(255, False), (256, True)])
def test_too_few_descriptors_are_refused_at_the_start(
    runtimes: Path,
    tmp_path: Path,
    soft: int,
    enough: bool,  # noqa: FBT001 - a parameter
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Said in one sentence with the number, rather than by runs that fail one in ten."""
    monkeypatch.setattr("sandbox.host.resource.getrlimit", lambda _: (soft, 4096))
    with contextlib.nullcontext() if enough else pytest.raises(SetupError, match=r"may have 255 open.*LimitNOFILE"):
        host.probe(Config(runtimes_dir=runtimes), tmp_path / "stage", "cgroup:v2", "")


def test_a_missing_cgroup_must_be_accepted_by_name(runtimes: Path, tmp_path: Path) -> None:
    """Never a default nobody sees: the refusal says why there is none and how to accept it."""
    with pytest.raises(LayerMissing, match=r"no right.*may_lack") as missing:
        host.probe(Config(runtimes_dir=runtimes), tmp_path, "watch", "no right")
    assert missing.value.layer == "cgroup"
    accepted = Config(runtimes_dir=runtimes, may_lack=frozenset({"cgroup"}))
    assert host.probe(accepted, tmp_path, "watch", "no right").meter_reason == "no right"


@pytest.mark.parametrize("text", [None, "", "{", "[1"])
def test_a_missing_or_broken_runtime_is_said_with_what_mends_it(tmp_path: Path, text: str | None) -> None:
    """One sentence that names the command."""
    if text is not None:
        (tmp_path / "python.json").write_text(text)
    with pytest.raises(LayerMissing, match="make setup") as missing:
        host.host_interpreter(Config(runtimes_dir=tmp_path))
    assert missing.value.layer == "runtime"
    assert str(tmp_path) in missing.value.reason


def test_the_runtime_is_looked_for_where_set_up_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configured folder alone; else the shared one, and before it a user's own, which root must not use."""
    assert host.runtimes_directories(Path("/x")) == (Path("/x"),)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert host.runtimes_directories(None) == (Path("/var/lib/fumehood/runtimes"),)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    assert host.runtimes_directories(None)[-1] == Path("/var/lib/fumehood/runtimes")
    assert len(host.runtimes_directories(None)) == 2
