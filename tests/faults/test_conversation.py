"""Whoever is killed, at whatever message of the conversation: the run has a true verdict, and the next one is well."""

from __future__ import annotations

import ast
import contextlib
import functools
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import serving
from conversation import Moment, below, held, moments, stopping, stopping_guest

import sandbox
from sandbox import Config, Job, Launcher, Result, Sandbox, SetupError, Status, nest

CODE = "open('out.txt', 'w').write('file')\nprint('printed', flush=True)\n"
OF_A_SERVER = ("serve", "serving", "child")
BEFORE_A_JOB = (*OF_A_SERVER, "stage", "set", "rooted", "waiting")
# The guest's own process is over by then, or about to be: there is nobody to kill.
AFTER_THE_GUEST = ("ready", "over", "file", "done", "failed")
OVER_SECONDS = 10.0

WARM = [each for each in moments() if each.message != "stage"]
COLD = [each for each in moments() if each.message not in OF_A_SERVER]


def job(launcher: Launcher = Launcher.AUTO, message: str = "") -> Job:
    """Give a run in which that message is sent, as most are in each."""
    # Who ends as Python programs do is known to have begun: the word is read where an end was not announced.
    code = CODE + "import os\nos._exit(0)\n" if message == "begun" else CODE
    return Job(code=code, collect=("*.txt",), launcher=launcher)


def is_well(result: Result) -> bool:
    """Whether it has all that the job's code makes."""
    return (result.status, result.stdout, [each.content for each in result.files]) == (
        Status.OK,
        "printed\n",
        [b"file"],
    )


until = functools.partial(serving.until, seconds=OVER_SECONDS)


@pytest.fixture(scope="module")
def box(configured: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Give an engine whose guest's side can be stopped, and that starts a new fork server without a pause."""
    with pytest.MonkeyPatch.context() as patch, stopping_guest(tmp_path_factory.mktemp("sandbox")):
        patch.setattr(nest, "_FIRST_PAUSE_SECONDS", 0.01)
        with Sandbox(configured()) as made:
            yield made


@pytest.fixture
def settled(box: Sandbox) -> Iterator[Sandbox]:
    """Give it with a child that waits; afterwards nobody is left but a server and a child of it."""
    until(lambda: bool(box.warmth[0]["waiting"]))
    before = len(list(Path("/proc/self/fd").iterdir()))
    yield box
    until(lambda: box.warmth[0]["waiting"] == 1)
    until(lambda: len(of_engine(box)) == len(below(box.warmth[0]["pid"])) + 1)
    until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before)


def of_engine(box: Sandbox) -> list[psutil.Process]:
    """Give the bwraps of this engine and all that is in them: those of other tests' engines may still be there."""
    found = []
    for each in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(str(box.config.state_dir) in word for word in each.cmdline()):
                found += [each, *below(each.pid)]
    return found


def server_of(process: psutil.Process) -> psutil.Process:
    """Give the fork server, or of a cold run the bwrap, of which that process is or comes."""
    line = [process, *process.parents()]
    return line[[each.pid for each in line].index(psutil.Process().pid) - 1]


def victim(name: str, moment: Moment, stopped: psutil.Process) -> psutil.Process:
    """Find who is to be killed when that one has stopped."""
    if name == "server":
        (inner,) = server_of(stopped).children()  # a bwrap holds one process, pid 1 of its namespace
        return inner
    if name == "bwrap":
        return server_of(stopped)
    if name == moment.who:
        return stopped
    if name == "init":
        parent = stopped.parent()
        assert parent is not None
        return parent
    (child,) = stopped.children()
    return child


def victims(moment: Moment, first: str) -> list[str]:
    """Name who is there to be killed at that moment."""
    names = [first]
    if moment.message not in OF_A_SERVER:
        names.append("init")
        after = moment.message in AFTER_THE_GUEST or (moment.message, moment.who) == ("begun", "init")
        if not after and moment.message != "stage":
            names.append("become")
    return names


def replace_server(box: Sandbox) -> None:
    """Let the fork server go, and with it its children: what stops is made anew."""
    (bare,) = box._zygotes._nests
    bare._drop()
    bare._wake.set()


@pytest.mark.parametrize(
    ("moment", "name"), [(each, name) for each in WARM for name in victims(each, "server")], ids=str
)
def test_a_warm_run_outlives_its_servers_death(settled: Sandbox, moment: Moment, name: str) -> None:
    """At every message: whoever is killed, nothing is lost, and the next run is warm again."""
    box = settled
    if moment.message in BEFORE_A_JOB:
        with stopping(box, moment):
            replace_server(box)
            stopped = held()
        victim(name, moment, stopped).send_signal(signal.SIGKILL)
        assert is_well(box.run(job()))
    else:
        with ThreadPoolExecutor(1) as threads:
            with stopping(box, moment):
                replace_server(box)
                until(lambda: box.warmth[0]["waiting"] == 1)
                run: Future[Result] = threads.submit(box.run, job(message=moment.message))
                stopped = held()
            victim(name, moment, stopped).send_signal(signal.SIGKILL)
            began = time.monotonic()
            assert is_well(run.result())
            assert time.monotonic() - began < OVER_SECONDS
        # What was made meanwhile would stop too.
        replace_server(box)
    until(lambda: box.warmth[0]["waiting"] == 1)
    result = box.run(job())
    assert is_well(result)
    assert result.launcher is Launcher.WARM


@pytest.mark.parametrize(
    ("moment", "name"), [(each, name) for each in COLD for name in victims(each, "bwrap")], ids=str
)
def test_a_cold_runs_death_is_ours_and_has_a_name(settled: Sandbox, moment: Moment, name: str) -> None:
    """At every message: an exception that names the step, soon, and no verdict that is not true."""
    box = settled
    with ThreadPoolExecutor(1) as threads:
        with stopping(box, moment):
            run = threads.submit(box.run, job(Launcher.COLD, moment.message))
            stopped = held()
        victim(name, moment, stopped).send_signal(signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(SetupError) as caught:
            run.result()
        assert caught.value.step
        assert time.monotonic() - began < OVER_SECONDS
    assert is_well(box.run(job(Launcher.COLD)))


def test_every_message_that_is_sent_is_in_the_table() -> None:
    """So that the tests above, which go by the table, leave none out."""
    sent = set()
    for path in Path(sandbox.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"wire.send", "wire.send_down"}:
                dicts = [each for value in node.args for each in ast.walk(value) if isinstance(each, ast.Dict)]
                for outer in dicts[:1]:
                    sent |= {key.value for key in outer.keys if isinstance(key, ast.Constant)}
    told = {each.message for each in moments()}
    assert sent <= told, sent - told
    assert len(sent) >= 8
