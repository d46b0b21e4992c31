"""What the steps of a warm run cost in processor time when there is nothing else: the floor under the throughput.

A fork server of the guest's interpreter, inside the engine's own bwrap, makes children one after another, each doing
what the one before does and one step more. No host side, no job, no control group; the program is ``print(1)``. The
steps take turns. CPU is the whole machine's, so nothing else should run on it; beside it stands bare bwrap, and what
8 callers of the engine cost is in throughput.py.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import contest
import sandbox
from bare import bwrap, command
from sandbox import Sandbox
from sandbox.confine import bwrap as confine
from sandbox.confine import seccomp
from sandbox.waiting import NEW_ROOT

_UID = 2_090_000_000
_CLEARING_SECONDS = 0.3  # the kernel takes network namespaces down a moment later

MODULES = ("wire", "libc", "steps", "root")
STEPS = (
    "a fork",
    "and an init",
    "and namespaces of their own",
    "and a root of their own",
    "and filters, no capabilities",
)
# Runs inside. Reads the sources of our guest modules and the stage, then numbers: a step and how many children.
SERVER = """
import gc, json, os, sys
stream = open(0, "rb", closefd=False)
first = json.loads(stream.readline())
kind = type(sys)
package = sys.modules["guest"] = kind("guest")
package.__path__ = []
for name, text in first["modules"]:
    module = sys.modules["guest." + name] = kind("guest." + name)
    module.__package__ = "guest"
    setattr(package, name, module)
    exec(compile(text, name, "exec"), module.__dict__)
libc, root = package.libc, package.root
stage = first["stage"]
filters = [bytes.fromhex(each) for each in first["filters"]]
gc.collect(); gc.freeze(); gc.disable()
quiet = os.open("/dev/null", os.O_WRONLY)
def program():
    os.dup2(quiet, 1)
    exec(compile("print(1)", "main.py", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()
    os._exit(0)
def confined():
    libc.drop_capabilities()
    libc.forbid_new_privileges()
    for each in filters:
        libc.load_filter(each)
def child(step):
    if step == 0:
        program()
    if step >= 2:
        for file, text in (("setgroups", "deny"), ("uid_map", "1000 1000 1"), ("gid_map", "1000 1000 1")):
            with open("/proc/self/" + file, "w") as mapping:
                mapping.write(text)
    if step >= 3:
        os.close(root.prepare(stage))
    if step >= 4:
        libc.drop_bounding_set()
    pid = os.fork()
    if pid == 0:
        if step >= 4:
            confined()
        program()
    if step >= 4:
        confined()
    os.waitpid(pid, 0)
    os._exit(0)
for line in stream:
    step, count = json.loads(line)
    for _ in range(count):
        pid = libc.fork_into_namespaces() if step >= 2 else os.fork()
        if pid == 0:
            child(step)
        if os.waitpid(pid, 0)[1]:
            os._exit(1)
    os.write(0, b"x")
"""


def main() -> None:
    """Measure, and say it."""
    options = contest.arguments(__doc__, turns=8, runs=40)
    spent: dict[str, float] = {}
    with contest.engine(options) as box, _server(box) as server:
        contest.until_full(box)
        contest.say_facts(box, turns=options.turns, runs_of_each_step_a_turn=options.runs)
        bare = command("bare bwrap", *bwrap(box.host), "-I", "-c", "print(1)")
        works: dict[str, Callable[[], object]] = {
            name: partial(_make, server, step, options.runs) for step, name in enumerate(STEPS)
        }
        works[bare.name] = lambda: [bare.run() for _ in range(options.runs)]
        for turn in range(-1, options.turns):
            for name, work in works.items():
                before = contest.machine_cpu_seconds()
                work()
                time.sleep(_CLEARING_SECONDS)
                if turn >= 0:
                    spent[name] = spent.get(name, 0.0) + contest.machine_cpu_seconds() - before
    for name, seconds in spent.items():
        contest.say(
            {"name": f"floor: {name}", "cpu_ms_per_run": round(seconds / options.turns / options.runs * 1e3, 2)}
        )


@contextlib.contextmanager
def _server(box: Sandbox) -> Iterator[socket.socket]:
    """Start the server above in the engine's bwrap; give our end of its standard input."""
    stage = {key: box._staging.stage[key] for key in ("binds", "links", "writable", "quota", "laid_links")}  # noqa: SLF001
    filters = seccomp.compile_filters(*seccomp.shipped_profiles(), box.host.machine)
    folder = Path(sandbox.__file__).parent / "guest"
    sources = [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]
    first = {"modules": sources, "stage": stage, "filters": [filters.deny.hex(), filters.allow.hex()]}
    python = (box.host.init[0], "-I", "-S", "-c", SERVER)
    argv = confine.argv(box.host.bwrap, box.host.binds, box.host.links, NEW_ROOT, python)
    user = {"user": _UID, "group": _UID, "extra_groups": ()} if box.host.as_root else {}
    near, far = socket.socketpair()
    with near, subprocess.Popen(argv, env={}, stdin=far, **user) as process:  # type: ignore[call-overload]
        far.close()
        near.sendall(json.dumps(first).encode() + b"\n")
        yield near
        near.shutdown(socket.SHUT_RDWR)
        process.wait()


def _make(server: socket.socket, step: int, count: int) -> None:
    server.sendall(json.dumps([step, count]).encode() + b"\n")
    if server.recv(1) != b"x":
        raise SystemExit(f"a child failed at: {STEPS[step]}")


if __name__ == "__main__":
    main()
