"""What only warmth could get wrong: one run's traces in the next, and servers that age, die or are overrun."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest
from patience import within

from sandbox import Config, ForkServerState, Job, Launcher, Limits, Sandbox, Status
from sandbox.config import Preload, WarmConfig
from sandbox.zygote import imports_of

SOON_SECONDS = 5.0
RUNS = 10  # more than wait in any server, so that the next run's child is made after the last one's end


# What a run does, what a later one looks for, and what it must find.
TRACES = (
    (
        "import json; json.dumps = None; json.mark = 1",
        "import json; print(hasattr(json, 'mark'), json.dumps(1))",
        "False 1",
    ),
    ("import builtins; builtins.print = None; builtins.mark = 1", "print('mark' in dir(__builtins__))", "False"),
    ("import os; os.environ['MARK'] = '1'", "import os; print('MARK' in os.environ)", "False"),
    ("import sys; sys.path.append('/mark')", "import sys; print('/mark' in sys.path)", "False"),
    ("import atexit; atexit.register(print, 'mark')", "pass", ""),
    ("import signal; signal.signal(signal.SIGUSR1, print)", "import signal; print(signal.getsignal(10))", "0"),
    ("import os; os.umask(0)", "import os; print(oct(os.umask(0)))", "0o22"),
    (
        "open('mark', 'w'); open('/tmp/mark', 'w'); open('/dev/shm/mark', 'w')",
        "import os; print([p for p in ('mark', '/tmp/mark', '/dev/shm/mark') if os.path.exists(p)])",
        "[]",
    ),
    (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))",
        "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))",
        "(256, 256)",
    ),
    ("import locale, sys; sys.setrecursionlimit(50)", "import sys; print(sys.getrecursionlimit())", "1000"),
    ("import gc; gc.disable()", "import gc; print(gc.isenabled())", "True"),
    (
        "import socket; t = socket.socket(socket.AF_UNIX); t.bind(chr(0) + 'mark')",
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind(chr(0) + 'mark'); print('free')",
        "free",
    ),
    ("import numpy; numpy.random.seed(1); numpy.mark = 1", "import numpy; print(hasattr(numpy, 'mark'))", "False"),
    (
        "import threading, time; threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        "import threading; print(threading.active_count())",
        "1",
    ),
)


@pytest.mark.parametrize(("act", "look", "found"), TRACES, ids=[act[:40] for act, _, _ in TRACES])
def test_a_run_leaves_no_trace_in_the_next(warm_box: Sandbox, act: str, look: str, found: str) -> None:
    """Whatever it does to modules, process, files or kernel objects; the control finds its own trace."""
    mine = warm_box.run(Job(code=f"{act}\n{look}"))
    for _ in range(RUNS):
        assert warm_box.run(Job(code=act)).launcher is Launcher.WARM
        later = warm_box.run(Job(code=look))
        assert (later.launcher, later.stdout.strip()) == (Launcher.WARM, found)
    assert (mine.stdout + mine.stderr).strip() != found or found in {"1", "0"}


def test_a_flood_of_callers_gets_an_answer_each(warm_box: Sandbox) -> None:
    """Far more callers at once than children wait: they queue, nothing fails."""
    with ThreadPoolExecutor(64) as callers:
        results = list(callers.map(lambda n: warm_box.run(Job(code=f"print({n})")), range(256)))
    assert [(each.status, each.stdout) for each in results] == [(Status.OK, f"{n}\n") for n in range(256)]
    assert {each.launcher for each in results} == {Launcher.WARM}


def test_warm_runs_leave_nothing(warm_box: Sandbox) -> None:
    """When the gaps are filled again there are as many processes and descriptors as before, exactly."""
    config = replace(warm_box.config, uid_base=warm_box.config.uid_base + 2_000_000)
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # other engines of this process fill their own gaps
        before, after = alone.submit(before_and_after, config).result()
    assert after == before
    assert before["processes"] > 0 or not warm_box.host.as_root


def before_and_after(config: Config) -> tuple[dict[str, int], dict[str, int]]:
    """Give the census of a process with one engine, before many runs and after them."""
    with Sandbox(config) as box:
        assert within(60, lambda: full(box)), box.warmth
        before = census(config)
        for code in (
            "print(1)",
            "import os; os._exit(3)",
            "import os; os.fork() or os.setsid()",
            "x = bytearray(700 << 20)",
        ):
            for _ in range(RUNS):
                assert box.run(Job(code=code)).launcher is Launcher.WARM
        within(SOON_SECONDS, lambda: full(box) and census(config) == before)
        return before, census(config)


def full(box: Sandbox) -> bool:
    """Whether every server has its children."""
    return all(server["waiting"] == box.config.warm.depth for server in box.warmth)


def census(config: Config) -> dict[str, int]:
    """Count our descriptors, and living processes under guest uids."""
    uids = range(config.uid_base, config.uid_base + config.slots)
    living = 0
    for entry in Path("/proc").iterdir():
        try:
            fields = dict(line.split(":\t", 1) for line in (entry / "status").read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        living += int(fields["Uid"].split()[0]) in uids and fields["State"][0] not in "ZX"
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # what lists them
            links.append(entry.readlink())
    return {"descriptors": len(links), "processes": living}


def is_refused(server: ForkServerState) -> bool:
    """Whether it has settled without being up."""
    return server["settled"] and not server["up"]


@pytest.fixture
def small(config: Config) -> Iterator[Callable[..., Sandbox]]:
    """Give engines with one server of few children."""
    boxes: list[Sandbox] = []

    def make(**changed: object) -> Sandbox:
        warm = WarmConfig(preloads=(Preload("bare", ()), Preload("json", ("json",))), depth=2)
        boxes.append(Sandbox(replace(config, warm=replace(warm, **changed))))  # type: ignore[arg-type]
        box = boxes[-1]
        assert within(SOON_SECONDS, lambda: all(server["waiting"] == 2 or is_refused(server) for server in box.warmth))
        return box

    yield make
    for box in boxes:
        box.close()


def kill_servers(box: Sandbox) -> None:
    """End the process in which each fork server runs, which is the one child of its bwrap."""
    for server in box.warmth:
        (zygote,) = psutil.Process(server["pid"]).children()
        os.kill(zygote.pid, signal.SIGKILL)


def test_a_killed_server_is_replaced_without_a_failed_run(small: Callable[..., Sandbox]) -> None:
    """Its waiting children die with it; runs go on, cold if they must, and warm again soon."""
    box = small()
    for _ in range(3):
        kill_servers(box)
        for _ in range(4):
            assert box.run(Job(code="print(1)")).stdout == "1\n"
        assert within(SOON_SECONDS, lambda: full(box)), box.warmth
        assert box.run(Job(code="print(1)")).launcher is Launcher.WARM
    assert all(server["started"] >= 4 and server["failures"] >= 3 for server in box.warmth), box.warmth


def test_a_dead_server_is_replaced_before_anybody_asks(small: Callable[..., Sandbox]) -> None:
    """The next caller finds it warm."""
    box = small()
    before = [server["pid"] for server in box.warmth]
    kill_servers(box)
    assert within(SOON_SECONDS, lambda: full(box) and not {server["pid"] for server in box.warmth} & set(before))
    assert [server["started"] for server in box.warmth] == [2, 2]
    assert box.run(Job(code="print(1)")).launcher is Launcher.WARM


def test_a_run_that_is_lost_with_its_server_is_run_again(small: Callable[..., Sandbox]) -> None:
    """Cold, and its caller sees one whole run: nothing of the lost one was seen outside."""
    box = small()
    code = "import time; print('begun', flush=True); time.sleep(1); print('over')"
    with ThreadPoolExecutor(4) as callers:
        under_way = [callers.submit(box.run, Job(code=code)) for _ in range(4)]
        time.sleep(0.5)
        kill_servers(box)
        results = [each.result() for each in under_way]
    assert [(each.status, each.stdout, each.launcher) for each in results] == [
        (Status.OK, "begun\nover\n", Launcher.COLD)
    ] * 4


def test_preloads_change_without_a_failed_run(small: Callable[..., Sandbox]) -> None:
    """Runs under way end as they would have; what stays is left alone, and what comes is warm."""
    box = small()
    bare = box.warmth[0]
    slow = Job(code="import json, time; print('begun', flush=True); time.sleep(1); print(json.dumps(1))")
    with ThreadPoolExecutor(4) as callers:
        under_way = [callers.submit(box.run, slow) for _ in range(2)]
        time.sleep(0.5)
        box.preload((Preload("bare", ()), Preload("maths", ("math", "decimal"))))
        meanwhile = [callers.submit(box.run, Job(code="import math; print(math.pi)")) for _ in range(8)]
        results = [each.result() for each in under_way]
        assert {(each.status, each.stdout) for each in results} == {(Status.OK, "begun\n1\n")}
        assert {each.launcher for each in results} == {Launcher.WARM}
        assert {each.result().status for each in meanwhile} == {Status.OK}
    assert within(SOON_SECONDS, lambda: full(box)), box.warmth
    assert [server["name"] for server in box.warmth] == ["bare", "maths"]
    assert (box.warmth[0]["pid"], box.warmth[0]["started"]) == (bare["pid"], bare["started"])
    seen = box.run(Job(code="import sys; print('decimal' in sys.modules)\nimport math, decimal"))
    assert (seen.stdout, seen.launcher) == ("True\n", Launcher.WARM)
    box.preload((Preload("bare", ()),))
    assert [server["name"] for server in box.warmth] == ["bare"]
    assert box.run(Job(code="import math; print(1)")).launcher is Launcher.WARM


def test_preloads_of_an_engine_without_warmth_change_nothing(small: Callable[..., Sandbox]) -> None:
    """It stays cold."""
    box = small(enabled=False)
    box.preload((Preload("bare", ()),))
    assert box.warmth == ()
    assert box.run(Job(code="print(1)")).launcher is Launcher.COLD


def test_the_memory_of_the_servers_is_told_and_bounded(small: Callable[..., Sandbox]) -> None:
    """Each holds what its processes do; past the bound only the one without imports is there, and its runs are warm."""
    held = small().warm_memory_bytes()
    assert held.keys() == {"bare", "json"}
    assert all(4 << 20 < each < 200 << 20 for each in held.values()), held
    box = small(memory_bytes=0)
    assert [server["up"] for server in box.warmth] == [True, False]
    assert "for all" in box.warmth[1]["reason"]
    assert box.run(Job(code="import json; print(json.dumps(1))")).launcher is Launcher.WARM


def test_a_server_is_replaced_after_its_runs(small: Callable[..., Sandbox]) -> None:
    """What the runs of one server share, the hash seed among it, does not last; no run fails over it."""
    box = small(runs_per_server=3)
    seeds = set()
    for _ in range(16):
        result = box.run(Job(code="print(hash('abc'))"))
        assert result.status is Status.OK
        seeds.add(result.stdout)
    assert len(seeds) > 2
    # A planned replacement is a start and no failure.
    assert box.warmth[0]["started"] >= len(seeds)
    assert box.warmth[0]["failures"] == 0


def test_a_run_tells_how_long_its_spawn_took(warm_box: Sandbox) -> None:
    """Apart from the guest's own time: both fit into what the caller waited, and a warm spawn is the shorter one."""
    spawned = {}
    for launcher in (Launcher.COLD, Launcher.AUTO):
        asked = time.monotonic()
        result = warm_box.run(Job(code="import time; time.sleep(0.1)", launcher=launcher))
        waited = time.monotonic() - asked
        usage = result.usage
        assert 0 < usage.spawn_seconds < waited - usage.wall_seconds
        spawned[result.launcher] = usage.spawn_seconds
    assert spawned[Launcher.WARM] < spawned[Launcher.COLD]


def test_a_server_that_nobody_uses_is_let_go_and_comes_back(small: Callable[..., Sandbox]) -> None:
    """All but the smallest one."""
    box = small(idle_seconds=0.2)

    def is_let_go() -> bool:
        box._zygotes._nests[1]._wake.set()  # or it looks again in a while
        return [server["up"] for server in box.warmth] == [True, False]

    assert within(SOON_SECONDS, is_let_go), box.warmth
    before = box.warmth[1]["started"]
    assert box.run(Job(code="import json; print(json.dumps(1))")).stdout == "1\n"
    # Where a start takes longer than it may be idle here, it is let go of at once: so it is counted, not seen.
    assert within(SOON_SECONDS, lambda: box.warmth[1]["started"] > before)


def test_the_smallest_server_that_has_the_imports_is_chosen(small: Callable[..., Sandbox]) -> None:
    """What no server has is imported by the run; a preloaded module is not yet among the guest's names."""
    box = small()
    code = "import sys; print('json' in sys.modules)"
    assert box.run(Job(code=code)).stdout == "False\n"
    assert box.run(Job(code=f"{code}\nif 0:\n    import json")).stdout == "True\n"
    assert (
        box.run(Job(code="try:\n    json\nexcept NameError:\n    print('not yet')\nimport json")).stdout == "not yet\n"
    )
    assert box.run(Job(code="import csv; print(csv.__name__)")).stdout == "csv\n"


def test_a_job_that_asks_for_cold_is_cold(warm_box: Sandbox) -> None:
    """And has a hash seed and an address layout of its own."""
    job = Job(code="print(hash('abc'), id(object()))", launcher=Launcher.COLD)
    results = [warm_box.run(job) for _ in range(3)]
    assert {each.launcher for each in results} == {Launcher.COLD}
    assert len({each.stdout for each in results}) == 3


def test_threads_of_a_library_follow_the_jobs_cpus(warm_box: Sandbox) -> None:
    """A data stack that was imported for one processor is not lent to a run with two."""
    if warm_box.host_cpus < 2:
        pytest.skip("one processor")
    code = "import os, sys; print('numpy' in sys.modules, os.environ['OMP_NUM_THREADS'])\nimport numpy"
    assert warm_box.run(Job(code=code)).stdout == "True 1\n"
    assert warm_box.run(Job(code=code, limits=Limits(cpus=2.0))).stdout == "False 2\n"
    assert warm_box.run(Job(code=code, env={"MPLBACKEND": "svg"})).stdout == "False 1\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import os, sys as system\nfrom a.b import c", {"os", "sys", "a"}),
        ("  import x.y.z\n\tfrom .rel import q", {"x", ""}),
        ("# import no\n'import no'\nimportant = 1", set()),
        ("if 1: import missed", set()),
        ("import a;import b", {"a"}),
    ],
)
def test_imports_are_read_off_the_source(source: str, names: set[str]) -> None:
    """As a hint: what is missed is imported by the run itself."""
    assert imports_of(source.encode()) == names


@pytest.mark.parametrize("text", [b"import " * 100_000, b"import a, " * 100_000, b" " * 1_000_000, b"from " * 200_000])
def test_hostile_source_costs_no_time(text: bytes) -> None:
    """The pattern is linear."""
    started = time.monotonic()
    imports_of(text)
    assert time.monotonic() - started < 1
