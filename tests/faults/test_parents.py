"""Somebody kills bwrap before what is inside has asked to die with it: that one must neither serve on nor stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from serving import until

from sandbox import Config, Job, Sandbox, SetupError, host, waiting
from sandbox.confine import find_bwrap

# The process that the engine started ends at once, or stays; the bwrap that it leaves behind does all it should.
PARENT = """#!{python} -I
import os, sys, time
if "--version" not in sys.argv:
    parent = os.getpid()
    if os.fork():
        {then}
    while os.getppid() == parent and {orphaned}:
        time.sleep(0.001)
os.execv("{bwrap}", ["bwrap", *sys.argv[1:]])
"""
LEAVES = {"then": "os._exit(0)", "orphaned": "True"}
# What bwrap's child does when bwrap is killed before it gives the word; while the flag is not there, as bwrap does.
KILLED = """#!{python} -I
import os, signal, sys
if os.path.exists("{flag}"):
    pid = os.fork()
    if pid == 0:
        signal.pause()
    with open("{flag}", "a") as orphans:
        orphans.write(str(pid) + "\\n")
    os.kill(os.getpid(), signal.SIGKILL)
os.execv("{bwrap}", ["bwrap", *sys.argv[1:]])
"""
STAYS = {"then": "os._exit(os.waitstatus_to_exitcode(os.wait()[1]) and 1)", "orphaned": "False"}


@pytest.fixture
def parent(state_dir: Path, configured: Callable[..., Config], request: pytest.FixtureRequest) -> Config:
    """Give a configuration whose bwrap has such a parent."""
    real = find_bwrap.find(None, ()).path
    script = state_dir / f"parent-{len(list(state_dir.iterdir()))}" / "bwrap"
    script.parent.mkdir()
    python = host.host_interpreter(configured())
    script.write_text(PARENT.format(python=python, bwrap=real, **request.param))
    script.chmod(0o755)
    return configured(bwrap=script)


@pytest.mark.parametrize("parent", [LEAVES], indirect=True)
def test_who_was_left_by_its_bwrap_serves_nobody(parent: Config) -> None:
    """No run is made of it, cold or warm, and it is not kept."""
    with Sandbox(parent) as box:
        until(lambda: box.warmth[0]["failures"] > 0)
        assert not box.warmth[0]["up"]
        assert "bwrap ended early" in box.warmth[0]["reason"]
        with pytest.raises(SetupError, match="bwrap ended early"):
            box.run(Job(code="print(1)"))


@pytest.mark.parametrize("parent", [STAYS], indirect=True)
def test_who_has_its_bwrap_serves(parent: Config) -> None:
    """The control: the same chain of processes, but for the one that left."""
    with Sandbox(parent) as box:
        until(lambda: bool(box.warmth[0]["waiting"]))
        assert (box.run(Job(code="print(1)")).stdout, box.warmth[0]["failures"]) == ("1\n", 0)


def test_who_waits_for_the_word_of_a_bwrap_that_was_killed_is_ended(
    state_dir: Path, configured: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds on to its standard input, and by that it is found; the next run is well."""
    monkeypatch.setattr(waiting, "SETUP_SECONDS", 0.5)
    folder = state_dir / "killed"
    folder.mkdir()
    flag, script = folder / "flag", folder / "bwrap"
    config = configured(bwrap=script, warm=False)
    python, real = host.host_interpreter(configured()), find_bwrap.find(None, ()).path
    script.write_text(KILLED.format(python=python, flag=flag, bwrap=real))
    script.chmod(0o755)
    with Sandbox(config) as box:
        flag.touch(0o666)
        flag.chmod(0o666)
        with pytest.raises(SetupError):
            box.run(Job(code="print(1)"))
        (orphan,) = map(int, flag.read_text().split())
        flag.unlink()
        until(lambda: not Path(f"/proc/{orphan}").exists() or psutil.Process(orphan).status() == psutil.STATUS_ZOMBIE)
        assert box.run(Job(code="print(1)")).stdout == "1\n"
