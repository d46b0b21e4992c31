"""Warm children, the host's half: fork servers by what they have imported, and the children that wait in each.

A server is one bwrap sandbox with :mod:`sandbox.guest.zygote` in it. It holds ``depth`` children that are staged,
confined and rehearsed; a run takes one, the gap is filled after the run. Servers form a small tree by what they
import: a run gets a child of the smallest one that has all that its source imports. What they do not have is imported
by the run itself. A server is replaced after so many runs or seconds, since what its runs share (address layout, hash
seed, one kernel uid) should not last; one that nobody used for long is let go, and comes back when it is wanted.

Where the host refuses nested user namespaces no server comes up: its state says why, and every run is cold.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from sandbox.config import Preload, WarmConfig
from sandbox.errors import SetupError
from sandbox.guest import wire
from sandbox.model import ForkServerState, Launcher, Plan, Runtime, RuntimeKind
from sandbox.nest import Lent, Nest, Server
from sandbox.pss import pss_bytes
from sandbox.slots import Slots
from sandbox.starter import Starter
from sandbox.waiting import SETUP_SECONDS, Staging

_IMPORT_SECONDS = 60.0
_MOST_ANSWER_BYTES = 1 << 20
_MOST_SOURCE_BYTES = 1 << 20
_THREADED = frozenset({"numpy"})
# What modules of a data stack read when they are imported: a job that sets one imports them anew.
_READ_AT_IMPORT = re.compile(r"(MPL|OMP_|OPENBLAS_|MKL_|BLIS_|NUMEXPR_|NPY_|NUMPY_|PANDAS_)")

# Import statements as they stand at the start of a line. A hint, so a linear pattern over hostile text is enough: it is
# never parsed in this process.
_IMPORTS = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))", re.MULTILINE)


def imports_of(source: bytes) -> frozenset[str]:
    """Give the top names of the modules that a Python source visibly imports."""
    names = set()
    for match in _IMPORTS.finditer(source[:_MOST_SOURCE_BYTES]):
        for part in (match[1] or match[2]).split(b","):
            word = part.split()[:1]
            if word:
                names.add(word[0].partition(b".")[0].decode("ascii", "replace"))
    return frozenset(names)


class Zygotes:
    """The tree: a nest for each preload, smallest first."""

    def __init__(
        self,
        runtime: Runtime,
        env: Mapping[str, str],
        argv: Sequence[str],
        starter: Starter,
        slots: Slots | None,
        staging: Staging,
        warm: WarmConfig,
        dispose: Callable[[contextlib.ExitStack], None],
    ) -> None:
        self._warm = warm
        self._argv = argv
        self._starter = starter
        self._slots = slots
        self._serve = {
            "stage": staging.stage,
            "links": [list(link) for link in runtime.links],
            "env": dict(env),
        }
        self._new_nest = functools.partial(Nest, warm=warm, start=self._start, staging=staging, dispose=dispose)
        self._changing = threading.Lock()
        self._nests: tuple[Nest, ...] = ()
        self.change(warm.preloads)

    def change(self, preloads: Sequence[Preload]) -> None:
        """Keep the servers of these preloads, the smallest first, from now on; those that stay are left as they are.

        A server that goes does so with the last of its runs; new ones come up on their own. Nobody waits for either.
        """
        if not self._warm.enabled:
            return
        preloads = tuple(dict.fromkeys(preloads))
        with self._changing:
            there = {nest.preload: nest for nest in self._nests}
            # Each begins at once, and looks at those that are there.
            for preload in preloads:
                if preload not in there:
                    there[preload] = self._new_nest(preload)
                    self._nests = tuple(there.values())
            self._nests = tuple(there.pop(preload) for preload in preloads)
        for nest in there.values():
            nest.close()

    def lend(self, plan: Plan, *, patient: bool = False) -> Lent | None:
        """Give a child for the plan; None where the run must be cold. ``patient`` as for :meth:`Nest.lend`."""
        if plan.launcher is Launcher.COLD:
            return None
        if not self._nests:
            return None
        foreign = self._foreign(plan)
        for nest in self._fitting(plan):
            lent = nest.lend(foreign, patient=patient)
            if lent is not None:
                return lent
        return None

    def states(self) -> tuple[ForkServerState, ...]:
        """Give what each nest tells of itself."""
        return tuple(nest.state() for nest in self._nests)

    def memory_bytes(self) -> Mapping[str, int]:
        """Name of each server that is up -> what it and all its children hold, shared pages counted once among them."""
        return {state["name"]: pss_bytes(state["pid"]) for state in self.states() if state["pid"] is not None}

    def close(self) -> None:
        """End all servers, each with the last of its runs."""
        for nest in self._nests:
            nest.close()

    def _fitting(self, plan: Plan) -> list[Nest]:
        """Give the nests worth asking, the best first: the smallest that covers all that can be covered."""
        if plan.runtime.kind is not RuntimeKind.PYTHON:
            return list(self._nests[:1])
        usable = [nest for nest in self._nests if not (nest.covers & _THREADED and self._reads_differently(plan))]
        wanted = imports_of(plan.code) & frozenset().union(*(nest.covers for nest in usable))
        return sorted(usable, key=lambda nest: (len(wanted - nest.covers), len(nest.covers)))

    def _foreign(self, plan: Plan) -> frozenset[str]:
        """Give the modules that a file of the job stands in the way of, so that a server must not have imported them.

        What the bare server has every interpreter of ours has, a cold one too.
        """
        if not plan.files or plan.runtime.kind is not RuntimeKind.PYTHON:
            return frozenset()
        names = {file.path.partition("/")[0].partition(".")[0] for file in plan.files}
        return frozenset(names) - self._nests[0].modules

    @staticmethod
    def _reads_differently(plan: Plan) -> bool:
        """Whether the run sets what a preloaded data stack has read already: its threads, or a variable of its own."""
        return plan.cpus != 1 or any(_READ_AT_IMPORT.match(name) for name in plan.own_env)

    def _start(self, preload: Preload) -> Server:
        if preload.imports:
            held, most = sum(self.memory_bytes().values()), self._warm.memory_bytes
            if held >= most:
                raise SetupError("fork server", 0, f"the others hold {held} bytes, of {most} for all")
        with contextlib.ExitStack() as scope:
            uid = self._slots.lend(scope) if self._slots else None
            started = self._starter.start(scope, self._argv, uid)
            started.control.settimeout(_IMPORT_SECONDS)
            inbox = wire.Inbox(started.control, _MOST_ANSWER_BYTES)
            try:
                wire.send_down(started.control, {"serve": {**self._serve, "imports": list(preload.imports)}})
                answer = inbox.receive()
            except (OSError, wire.WireError) as error:
                raise SetupError("fork server", 0, f"{error}; {started.complaint()}") from error
            if answer is not None and "failed" in answer:
                raise SetupError.told(answer["failed"])
            if answer is None or "serving" not in answer:
                raise SetupError("fork server", 0, started.complaint() or "it ended early")
            started.confirm()
            started.control.settimeout(SETUP_SECONDS)
            told = answer["serving"]
            modules = frozenset(told["modules"])
            return Server(started, told["namespaces"], modules, uid, scope.pop_all(), time.monotonic())
