"""A soak: sixteen callers, honest and hostile mixed, for as long as is asked. What the service holds must stay.

Every answer is judged: an honest program's output byte by byte, a hostile one (of ``tests/attacks/payloads``) by what
its header demands. After a fifth of the time, and at the end, the callers pause until nothing moves; between these two
looks memory may grow by a twentieth, and everything else that a run could leave must be the same. When the service has
stopped, nothing of it may be there.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import itertools
import json
import os
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

import contest
import service
from sandbox import Config, WarmConfig, claim
from sandbox.confine import cgroup

_ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(_ROOT / "tests" / "attacks"), str(_ROOT / "tests")]
import canaries  # noqa: E402 - what hostile programs look for
from payload import Payload  # noqa: E402 - and what must become of them

CALLERS = 16
MOST_MEMORY = 1.05
_FIRST_SHARE = 0.2
_SHOWN = 5
_STILL_LOOKS = 5  # a second between them: a fork server may be coming up
_WALL_SECONDS = 60.0  # of a program that names no limit of its own: there are many at once
_FLOOD_BYTES = 16 << 20
_UIDS = range(1_700_000_000, 1_700_000_000 + Config().slots)
_SHARED = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - looked into, for what guests left

Request = tuple[str, dict[str, Any], Callable[[dict[str, Any]], bool]]


def _printed(stdout: str, exit_code: int = 0) -> Callable[[dict[str, Any]], bool]:
    status = "error" if exit_code else "ok"
    return lambda told: (told["status"], told["stdout"], told["exit_code"]) == (status, stdout, exit_code)


_BINARY = bytes(range(256)) * 256

HONEST: tuple[Request, ...] = (
    ("prints", {"code": "print(6 * 7)"}, _printed("42\n")),
    ("imports", {"code": "import json, re\nprint(json.loads(re.sub('x', '1', 'x')))"}, _printed("1\n")),
    ("numpy", {"code": "import numpy\nprint(int(numpy.arange(10).sum()))"}, _printed("45\n")),
    ("pandas", {"code": "import pandas\nprint(pandas.Series([1, 2]).sum())"}, _printed("3\n")),
    ("bash", {"code": "echo $((6 * 7))", "language": "bash"}, _printed("42\n")),
    ("bash pipes", {"code": "seq 1000 | sort -rn | head -1", "language": "bash"}, _printed("1000\n")),
    ("cold", {"code": "print(6 * 7)", "launcher": "cold"}, _printed("42\n")),
    ("cold bash", {"code": "exit 3", "language": "bash", "launcher": "cold"}, _printed("", 3)),
    ("stdin", {"code": "print(input()[::-1])", "stdin": "abc\n"}, _printed("cba\n")),
    ("long output", {"code": "print('x' * 60_000)"}, _printed("x" * 60_000 + "\n")),
    (
        "files",
        {
            "code": "open('out', 'wb').write(open('in', 'rb').read()[::-1])",
            "files": [{"path": "in", "content": base64.b64encode(_BINARY).decode(), "encoding": "base64"}],
            "collect": ["out"],
        },
        lambda told: [base64.b64decode(file["content"]) for file in told["files"]] == [_BINARY[::-1]],
    ),
    (
        "children",
        {"code": "import subprocess\nprint(subprocess.run(['id', '-u'], capture_output=True, text=True).stdout)"},
        _printed("1000\n\n"),
    ),
)

# At least two of every status that a run can end with, and something of each wall.
HOSTILE = (
    *("absurd_allocation.py", "close_everything.py", "exit_137.py", "forged_messages.py"),  # error
    *("daemon.sh", "double_fork.py", "host_secrets.py", "host_sockets.py", "left_files.py", "left_processes.py"),  # ok
    *("network.py", "proc_writes.py", "signal_init.py", "left_system_v.py", "write_outside.py", "zombies.py"),  # ok
    *("anonymous_memory.py", "memfd_memory.py", "memory.sh"),  # memory_limit
    *("ignore_signals.py", "sleep_forever.sh", "stop_oneself.py"),  # timeout
    *("core_dump.py", "reserved_signal.py"),  # signaled
    *("fill_disk.py", "fill_inodes.py"),  # disk_limit
    *("flood.py", "flood.sh"),  # output_limit
    *("fork_bomb.py", "thread_bomb.py"),  # process_limit
    *("spin.sh", "spin_everywhere.py"),  # cpu_limit
)


def _hostile(payload: Payload, canary: canaries.Canary) -> Request:
    said = payload.said
    body: dict[str, Any] = {"code": payload.code, "language": payload.language}
    body |= {"limits": {"wall_seconds": _WALL_SECONDS, **payload.limits()}, "env": canary.environment}
    if "stdin" in said:
        body["stdin"] = "\0" * int(said["stdin"])
    if "collect" in said:
        body["collect"] = said["collect"].split()

    def right(told: dict[str, Any]) -> bool:
        words = told["stdout"] + told["stderr"] + repr(told["files"]) + repr(told["files_skipped"])
        hits = said["hits"].split() if "hits" in said else told["limits_hit"]
        return (
            told["status"] == said["expect"]
            and told["limits_hit"] == hits
            and "ESCAPED" not in words
            and canary.secret not in words
            and said.get("says", "") in words
        )

    return payload.name, body, right


@dataclass(frozen=True, slots=True)
class Look:
    """What the service holds when nothing moves. ``standing`` is what must not change between runs."""

    service_bytes: int
    tree_bytes: int
    standing: dict[str, int]


def main() -> None:
    """Soak, and say what was seen; ends with 1 where a verdict was wrong, something is left, or memory grew."""
    options = contest.arguments(__doc__, seconds=3600, callers=CALLERS, seed=1)
    with contest.engine(options, WarmConfig(enabled=False)) as box:
        meter = box.host.meter_kind.partition(":")[0]
        contest.say_facts(box, seconds=options.seconds, callers=options.callers, seed=options.seed)
    folder = _ROOT / "tests" / "attacks" / "payloads"
    with tempfile.TemporaryDirectory(prefix="fumehood-soak-") as state, canaries.laid() as canary:
        hostile = [_hostile(Payload(folder / name, meter), canary) for name in HOSTILE]
        Path(state).chmod(0o755)  # a guest's uid must reach what is laid in for it
        settings = {"FUMEHOOD_STATE_DIR": state, "FUMEHOOD_UID_BASE": str(_UIDS.start), "FUMEHOOD_MAY_LACK": "cgroup"}
        settings["FUMEHOOD_FLOOD_BYTES"] = str(_FLOOD_BYTES)
        canary.rest()
        with service.served(options.runtimes, **settings) as server:
            soak = Soak(server, Path(state), [*HONEST, *hostile], random.Random(options.seed))  # noqa: S311 - an order
            soak.run(options.seconds * _FIRST_SHARE, options.callers)
            first = soak.look(None)
            soak.run(options.seconds * (1 - _FIRST_SHARE), options.callers)
            last = soak.look(first)
            owners = _owners(server.process.pid)
        after = _after(owners, Path(state))
        touches = canary.touches()
    met = [
        soak.tell(),
        _at_most("soak: wrong verdicts", len(soak.wrong), 0),
        _at_most("soak: canaries that were touched", len(touches), 0),
        _at_most("soak: kinds of leftovers between runs", len(left := _more(first.standing, last.standing)), 0),
        _at_most("soak: leftovers of a service that stopped", len(after), 0),
        _at_most("soak: the service's memory, last against first", last.service_bytes / first.service_bytes),
        _at_most("soak: memory of all its processes, last against first", last.tree_bytes / first.tree_bytes),
    ]
    if told := [*left, *after, *touches]:
        contest.say({"left": told[:_SHOWN]})
    sys.exit(not all(met))


def _at_most(measure: str, ratio: float, bound: float = MOST_MEMORY) -> bool:
    contest.say_at_most(measure, ratio, bound)
    return ratio <= bound


class Soak:
    """A service under its callers: every one draws from the same deck, which is shuffled each time it is through."""

    def __init__(self, server: service.Service, state: Path, deck: list[Request], dice: random.Random) -> None:
        self._server = server
        self._state = state
        self._deck = deck
        self._dice = dice
        self._drawn = self._draws()
        self._lock = threading.Lock()
        self._statuses: Counter[str] = Counter()
        self._ran: Counter[str] = Counter()
        self._seconds = 0.0
        self.wrong: list[str] = []

    def run(self, seconds: float, callers: int) -> None:
        """Have so many callers ask one thing after the other until the time is up, and all be answered."""
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self._call, args=(end,), daemon=True) for _ in range(callers)]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._seconds += time.monotonic() - started

    def _draws(self) -> Iterator[Request]:
        while True:
            yield from self._dice.sample(self._deck, len(self._deck))

    def _call(self, end: float) -> None:
        client = service.Client(self._server.address)
        while time.monotonic() < end:
            with self._lock:
                name, body, right = next(self._drawn)
            try:
                told = json.loads(client.ask(client.request("/v1/execute", body)))
                fine = "stdout" in told and right(told)
            except Exception as error:  # noqa: BLE001 - whatever a call raises is a wrong answer
                told, fine = {"status": "none", "error": repr(error)}, False
                client = service.Client(self._server.address)
            with self._lock:
                self._ran[name] += 1
                self._statuses[str(told.get("status"))] += 1
                if not fine:
                    self.wrong.append(f"{name}: {_brief(told)}")

    def tell(self) -> bool:
        """Print how much ran; tell whether every program of the deck did."""
        runs = sum(self._ran.values())
        line = {"name": "soak", "count": runs, "runs_per_second": round(runs / self._seconds, 1)}
        wrong = {"wrong": self.wrong[:_SHOWN]} if self.wrong else {}
        contest.say({**line, "statuses": dict(sorted(self._statuses.items())), **wrong})
        return len(self._ran) == len(self._deck)

    def look(self, first: Look | None) -> Look:
        """Wait until nothing moves, and until everything is as at the first look, if it will be."""
        self._server.settle()
        with contextlib.suppress(SystemExit):
            if first:
                contest.await_that(lambda: not _more(first.standing, self._standing()), lambda: "")
            else:
                contest.await_that(functools.partial(_still, self._standing), lambda: "")
        look = Look(self._server.rss_bytes(), self._tree_bytes(), self._standing())
        memory = {"service_mb": look.service_bytes >> 20, "all_mb": look.tree_bytes >> 20}
        contest.say({"look": {**look.standing, **memory}})
        return look

    def _tree(self) -> list[psutil.Process]:
        return [self._server.process, *self._server.process.children(recursive=True)]

    def _tree_bytes(self) -> int:
        """Add up the proportional set sizes: each page counted once (proc_pid_smaps(5))."""
        held = 0
        for process in self._tree():
            with contextlib.suppress(OSError):
                found = re.search(
                    r"^Pss: *(\d+) kB", Path(f"/proc/{process.pid}/smaps_rollup").read_text(), re.MULTILINE
                )
                held += int(found[1]) * 1024 if found else 0
        return held

    def _standing(self) -> dict[str, int]:
        pid = self._server.process.pid
        return {
            "processes": len(self._tree()),
            "threads": self._server.process.num_threads(),
            "descriptors": self._server.descriptors(),
            "mounts": len(Path(f"/proc/{pid}/mountinfo").read_text().splitlines()),
            "groups": len(_groups(_owners(pid))),
            "folders": len([path for path in self._state.rglob("*") if path.is_dir()]),
            "files_of_guests": len(_files_of_guests()),
        }


def _still(look: Callable[[], dict[str, int]]) -> bool:
    before = look()
    for _ in range(_STILL_LOOKS):
        time.sleep(1.0)
        if before != look():
            return False
    return True


def _brief(told: dict[str, Any]) -> str:
    words = {name: str(told.get(name))[-160:] for name in ("status", "limits_hit", "exit_code", "signal", "stderr")}
    return json.dumps(words if "stdout" in told else told)


def _more(first: dict[str, int], last: dict[str, int]) -> list[str]:
    """Say of what there is more than at first."""
    return [f"{name}: {last[name]} and not {then}" for name, then in first.items() if last[name] > then]


def _after(owners: set[str], state: Path) -> list[str]:
    """Give what is there after the service stopped: its groups, its guests' processes and files, its own folders."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.uids().real in _UIDS and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(f"process {process.pid} {process.name()}")
    held = [str(path) for path in state.rglob("*") if re.fullmatch(rf"(stage-)?{claim.NAME}", path.name)]
    return [*processes, *_groups(owners), *_files_of_guests(), *held]


def _owners(pid: int) -> set[str]:
    """Give the names under which a process owns groups: it holds each folder open (:mod:`sandbox.claim`)."""
    names = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            names.add(entry.readlink().name)
    return {name for name in names if re.fullmatch(claim.NAME, name)}


def _groups(owners: set[str]) -> list[str]:
    hierarchy = cgroup.locate()
    if isinstance(hierarchy, cgroup.Unavailable):
        return []
    folders = (Path(parent) for parent in hierarchy.parents)
    entries = itertools.chain.from_iterable(folder.iterdir() for folder in folders if folder.is_dir())
    return [str(entry) for entry in entries if entry.name.partition(".")[0] in owners]


def _files_of_guests() -> list[str]:
    found = []
    for folder in _SHARED:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid in _UIDS:
                        found.append(entry.path)
    return found


if __name__ == "__main__":
    main()
