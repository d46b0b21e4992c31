"""What the benchmarks share: contenders that take turns in one process, percentiles, host facts, JSON lines.

Absolute times differ between machines and between minutes; a ratio of two contenders that took turns hardly does. So
every bound is on a ratio. Lines are of three kinds::

    {"facts": {…}}                                        what was measured on
    {"name", "count", "p50_ms", "p90_ms", "p99_ms"}       one contender; other figures may stand beside these
    {"measure", "ratio", "bound", "met"}                  a ratio against its bound, "<= n" or ">= n"
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import Config, Job, Launcher, Result, Sandbox, WarmConfig

Settle = Callable[[], None]
Options = argparse.Namespace

_PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 0.001
_IDLE_FIELDS = (3, 4)  # of the cpu line in /proc/stat (proc_stat(5)): idle and iowait


@dataclass(frozen=True, slots=True)
class Times:
    """What one contender took, in seconds, each time."""

    seconds: Sequence[float]

    def percentile(self, percent: float) -> float:
        """Give the smallest time that ``percent`` of all times do not exceed (nearest rank)."""
        ranked = sorted(self.seconds)
        return ranked[max(math.ceil(len(ranked) * percent / 100), 1) - 1]

    @property
    def p50(self) -> float:
        """The median, as nearest rank."""
        return self.percentile(50)

    def line(self, name: str) -> dict[str, Any]:
        """Give the line that tells of it."""
        shares = {f"p{percent}_ms": round(self.percentile(percent) * 1e3, 3) for percent in (50, 90, 99)}
        return {"name": name, "count": len(self.seconds), **shares}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One way to have a snippet run. ``run`` is timed; ``check`` judges its answer, untimed, and says what is wrong.

    ``burst`` calls follow one another at each turn, with nothing awaited between them. ``prepare`` is called before
    the time of each counts.
    """

    name: str
    run: Callable[[], Any]
    check: Callable[[Any], str]
    burst: int = 1
    prepare: Callable[[], None] = lambda: None


def compete(contenders: Sequence[Contender], rounds: int, settle: Settle, warm_up: int) -> dict[str, Times]:
    """Let the contenders take turns; before each turn of any of them ``settle`` waits until nothing is under way."""
    seconds: dict[str, list[float]] = {each.name: [] for each in contenders}
    for number in range(-warm_up, rounds):
        for each in contenders:
            settle()
            for _ in range(each.burst):
                each.prepare()
                started = time.perf_counter()
                answer = each.run()
                took = time.perf_counter() - started
                _insist(each, answer)
                if number >= 0:
                    seconds[each.name].append(took)
    return {name: Times(times) for name, times in seconds.items()}


def _insist(contender: Contender, answer: object) -> None:
    wrong = contender.check(answer)
    if wrong:
        raise SystemExit(f"{contender.name}: {wrong}")


@dataclass(slots=True)
class Crowd:
    """What a number of callers met at once: ``times`` of every call, the ``wall_seconds`` of all, what went wrong."""

    times: Times
    wall_seconds: float
    machine_cpu_seconds: float
    wrong: list[str] = field(default_factory=list)

    @property
    def runs_per_second(self) -> float:
        """How many calls were answered a second."""
        return len(self.times.seconds) / self.wall_seconds

    def line(self, name: str) -> dict[str, Any]:
        """Give the line that tells of it. CPU is the whole machine's, whoever used it."""
        return {
            **self.times.line(name),
            "runs_per_second": round(self.runs_per_second, 1),
            "cpu_ms_per_run": round(self.machine_cpu_seconds / len(self.times.seconds) * 1e3, 2),
            "errors": len(self.wrong),
        }


def crowd(callers: int, runs: int, caller: Callable[[], Contender]) -> Crowd:
    """Have ``callers`` threads begin at once and call ``runs`` times each, each through what ``caller`` gives it."""
    seconds: list[float] = []
    wrong: list[str] = []
    gate = threading.Barrier(callers + 1)

    def call() -> None:
        mine = caller()
        gate.wait()
        for _ in range(runs):
            started = time.perf_counter()
            try:
                complaint = mine.check(mine.run())
            except Exception as error:  # noqa: BLE001 - whatever a call raises is what is counted here
                complaint = repr(error)
            seconds.append(time.perf_counter() - started)
            if complaint:
                wrong.append(complaint)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(callers)]
    for thread in threads:
        thread.start()
    gate.wait()
    started, busy = time.perf_counter(), machine_cpu_seconds()
    for thread in threads:
        thread.join()
    return Crowd(Times(seconds), time.perf_counter() - started, machine_cpu_seconds() - busy, wrong)


def joined(parts: Sequence[Crowd]) -> Crowd:
    """Give several turns of one contender as one."""
    return Crowd(
        Times([one for part in parts for one in part.times.seconds]),
        sum(part.wall_seconds for part in parts),
        sum(part.machine_cpu_seconds for part in parts),
        [one for part in parts for one in part.wrong],
    )


def machine_cpu_seconds() -> float:
    """Give the processor time that the whole machine has used since it started."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    busy = sum(int(ticks) for number, ticks in enumerate(fields) if number not in _IDLE_FIELDS)
    return busy / os.sysconf("SC_CLK_TCK")


# --- the engine ------------------------------------------------------------------------------------------------------


def engine(options: Options, warm: WarmConfig | None = None) -> Sandbox:
    """Start an engine with every default but the runtimes' place, and what is kept warm."""
    return Sandbox(Config(runtimes_dir=options.runtimes, warm=warm or WarmConfig()))


def sandboxed(box: Sandbox, name: str, job: Job, launcher: Launcher, burst: int = 1) -> Contender:
    """Give a contender that has the engine run a job which prints ``1``, and insists on how it was launched."""

    def check(result: Result) -> str:
        return "" if (result.status, result.stdout, result.launcher) == ("ok", "1\n", launcher) else repr(result)

    return Contender(name=name, run=lambda: box.run(job), check=check, burst=burst)


def until_full(box: Sandbox) -> None:
    """Wait until every fork server has all of its waiting children."""
    await_that(
        lambda: all(nest["up"] and nest["waiting"] == box.config.warm.depth for nest in box.warmth),
        lambda: f"not all children wait: {box.warmth}",
    )


def await_that(holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    """Look until it holds. Ends the program where it never does."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(otherwise())
        time.sleep(_LOOK_SECONDS)


# --- what is said ----------------------------------------------------------------------------------------------------


def say(line: dict[str, Any]) -> None:
    """Print a line at once."""
    print(json.dumps(line), flush=True)


def say_at_most(measure: str, ratio: float, bound: float) -> None:
    """Print a measure whose ratio may be ``bound`` and no more."""
    say({"measure": measure, "ratio": round(ratio, 4), "bound": f"<= {bound:g}", "met": ratio <= bound})


def say_at_least(measure: str, ratio: float, bound: float) -> None:
    """Print a measure whose ratio must be ``bound`` or more."""
    say({"measure": measure, "ratio": round(ratio, 4), "bound": f">= {bound:g}", "met": ratio >= bound})


def say_facts(box: Sandbox, **more: object) -> None:
    """Print what is measured on, and how busy it was before."""
    facts = {
        "program": Path(sys.argv[0]).name,
        "host": platform.platform(),
        "processor": _field("/proc/cpuinfo", "model name"),
        "cpus": box.host_cpus,
        "memory": _field("/proc/meminfo", "MemTotal"),
        "load_before": round(os.getloadavg()[0], 2),
        "service_python": platform.python_version(),
        "guest_python": box.runtimes["python"].version,
        "bwrap": box.host.bwrap_version,
        "layers": list(box.layers),
        **more,
    }
    say({"facts": facts})


def _field(path: str, name: str) -> str:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(name))
    return next(found, "")


def arguments(text: str | None, **defaults: int) -> Options:
    """Read the command line: ``--quick``, ``--runtimes DIR``, and a number for each of ``defaults``.

    With ``--quick`` every number that was not given is as small as can be: it shows that all works, and measures
    nothing.
    """
    parser = argparse.ArgumentParser(description=(text or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke test: the fewest runs")
    parser.add_argument("--runtimes", type=Path, metavar="DIR", help="where guest runtimes are (default: as served)")
    for name, number in defaults.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, metavar="N", help=f"(default: {number})")
    options = parser.parse_args()
    for name, number in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, min(number, 2) if options.quick else number)
    return options
