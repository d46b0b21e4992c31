"""Settings that are read again while the service serves."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from program import program
from serving import state_folder

from fumehood import settings
from fumehood.reload import Reload
from sandbox import Preload

TABLE = "concurrency = {}\n[warm.preloads]\nbare = []\n{} = ['json']\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a settings file."""
    path = tmp_path / "fumehood.toml"
    path.write_text(TABLE.format(2, "before"), encoding="utf-8")
    return path


def reloaded(file: Path) -> tuple[Reload, list[Sequence[Preload]]]:
    """Give what reads the file again, and what it has the engine keep."""
    kept: list[Sequence[Preload]] = []
    return Reload(settings.load(file), lambda: settings.load(file), kept.append), kept


def test_preloads_are_taken_and_the_rest_is_named(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What counts only from the next start is said, and is not taken."""
    again, kept = reloaded(file)
    file.write_text(TABLE.format(3, "after"), encoding="utf-8")
    with caplog.at_level(logging.INFO, "fumehood.reload"):
        again.work()
    assert kept == [(Preload("bare", ()), Preload("after", ("json",)))]
    (later, taken) = caplog.records
    assert (later.levelname, later.__dict__["settings"]) == ("WARNING", ["concurrency"])
    assert taken.__dict__["preloads"] == ["bare", "after"]


def test_a_file_with_a_fault_changes_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And the log names the fault."""
    again, kept = reloaded(file)
    file.write_text("concurency = 2\n", encoding="utf-8")
    again.work()
    assert kept == []
    assert [(each.levelname, "concurency" in each.getMessage()) for each in caplog.records] == [("ERROR", True)]


def test_a_hangup_reads_them_again(file: Path) -> None:
    """In the program: the new server is there, the old one is not, and calls in between are answered."""
    with state_folder() as state, program(state, config=str(file)) as running:

        def names() -> list[str]:
            return [each["name"] for each in running.client.get("/v1/capabilities").json()["fork_servers"]]

        assert names() == ["bare", "before"]
        file.write_text(TABLE.format(2, "after"), encoding="utf-8")
        running.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 10
        while names() != ["bare", "after"]:
            assert time.monotonic() < deadline
            answer = running.client.post("/v1/execute", json={"code": "import json; print(1)"})
            assert answer.json()["stdout"] == "1\n"
        assert running.stop() == 0
