"""The whole story of one job: plan, spawn, supervise, judge.

Theory of operation
===================

========  =======================================  ====================================================================
process   runs as                                  privilege
========  =======================================  ====================================================================
service   whoever started it                       its own; holds every descriptor a run has on the host
bwrap     as root: the slot's uid; else the same   none over the machine; dies with the service
init      uid 1000 inside, bwrap's outside         all capabilities over its own namespaces until it has built the
                                                   guest's root, then none; pid 1, whose end takes every process along
guest     the same uid                             none; its own session, its own meter, two seccomp filters
server    as bwrap                                 all capabilities over the namespaces of its own bwrap, in which no
                                                   guest ever runs; warm inits are its clones
========  =======================================  ====================================================================

The service talks to init, and until the guest goes to the process that becomes it, over a socket each
(:mod:`sandbox.guest.wire`), and to the guest over three pipes; a gate holds the guest back until its meter holds.
Init and guest share the namespaces, and a page for the guest's exit code. A guest's failure is a
:class:`~sandbox.model.Result`; ours is an exception of :mod:`sandbox.errors`. ``docs/architecture.md`` draws it.
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Self

from sandbox import collect, host, places, policy, stage
from sandbox.cold import Cold
from sandbox.config import Config
from sandbox.confine import bwrap, seccomp
from sandbox.enclose import Enclosed, Enclosures
from sandbox.errors import SetupError
from sandbox.meters import Meters
from sandbox.model import Job, Launcher, Limits
from sandbox.slots import PLACE, Slots
from sandbox.spawn import spawn
from sandbox.starter import Starter
from sandbox.supervise import supervise
from sandbox.undertaker import Undertaker
from sandbox.waiting import NEW_ROOT, Staging
from sandbox.zygote import Zygotes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from sandbox.config import Preload
    from sandbox.model import Child, Exit, ForkServerState, Host, Plan, Result, Runtime
    from sandbox.supervise import Cancel
    from sandbox.waiting import Waiting


_log = logging.getLogger(__name__)


class Sandbox:
    """Runs jobs, any number at once from any threads. What it holds on the host it gives back on :meth:`close`.

    Raises LayerMissing where a wall that must stand cannot be built here, SetupError where starting failed.
    """

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or Config()
        with contextlib.ExitStack() as scope:
            state = stage.state_directory(self.config.state_dir)
            stage.sweep(state)
            meters = Meters(self.config.cgroup_parent)
            scope.callback(meters.close)
            folder = scope.enter_context(stage.built(state, host.host_interpreter(self.config)))
            self.host: Host = host.probe(self.config, folder, meters.kind, meters.reason)
            slots = None
            if self.host.as_root:
                slots = Slots(PLACE, self.config.uid_base, self.config.slots)
                scope.callback(slots.close)
            starter = Starter(self.host.machine)
            scope.callback(starter.close)
            self._undertaker = Undertaker()
            scope.callback(self._undertaker.close)
            allow, deny = seccomp.shipped_profiles()
            filters = seccomp.compile_filters(allow, deny, self.host.machine)
            init_filter = seccomp.compile_filter(seccomp.shipped_init_profile(), self.host.machine)
            # The allow-list last: it refuses the loading of further filters, to us as to the guest.
            watched: tuple[bytes, ...] = ()
            if self.host.meter_kind == "watch":
                watched = (seccomp.compile_filter(seccomp.shipped_watch_profile(), self.host.machine),)
            python = self.host.runtimes["python"]
            self._staging = Staging(
                self.host,
                (*watched, filters.deny, filters.allow),
                init_filter,
                places.STANDING_PLACES,
                policy.standing_environment(python, 1),
                meters.new,
                Limits(),
                self.config.files_out_bytes,
            )
            self._enclosures = Enclosures(
                self.host, starter, slots, (*watched, filters.deny, filters.allow), meters.new, folder
            )
            argv = bwrap.argv(self.host.bwrap, self.host.binds, self.host.links, NEW_ROOT, self.host.init)
            self._cold = Cold(argv, starter, slots, self._staging)
            self._cold.prove()
            argv = bwrap.argv(self.host.bwrap, self.host.binds, self.host.links, NEW_ROOT, self.host.zygote)
            self._zygotes = Zygotes(
                python,
                policy.library_environment(python, 1),
                argv,
                starter,
                slots,
                self._staging,
                self.config.warm,
                self._undertaker.take,
            )
            scope.callback(self._zygotes.close)
            self._scope = scope.pop_all()

    def run(
        self,
        job: Job | Plan,
        *,
        cancel: Cancel | None = None,
        patient: bool = False,
        before: Callable[[], None] | None = None,
    ) -> Result:
        """Run one job to its end and give the verdict.

        Args:
            job: what to run; or the plan for it, if :meth:`vet` gave one.
            cancel: set from another thread, it ends the run.
            patient: leave half of the warm children to runs that are not, and wait behind those.
            before: called when the job is on its way and nothing of the guest's has run yet, and cannot before it
                returns; again, where the run is begun anew. What it raises ends the run, and is raised here.

        Raises:
            JobRefused: the job asks for what may not be had; OverCeiling and NotBuilt are kinds of it.
            LayerMissing: a required layer did not come to hold for this run.
            SetupError: a step of ours failed; nothing is known of the guest.
        """
        asked = time.monotonic()
        plan = policy.plan(job, self.host, self.config) if isinstance(job, Job) else job
        try:
            end = self._end_of(plan, cancel, before or _nothing, patient=patient)
        except OSError as error:  # descriptors, processes or memory ran out on our side
            raise SetupError("run", error.errno or 0, str(error)) from error
        return collect.judge(end, plan, spawn_seconds=end.started - asked)

    def _end_of(self, plan: Plan, cancel: Cancel | None, before: Callable[[], None], *, patient: bool) -> Exit:
        """Run to the end. What is lost with its fork server is run again, cold: nothing of it was seen outside."""
        with contextlib.ExitStack() as scope:
            child = self._child(plan, scope, before, patient=patient)
            try:
                return supervise(child, plan, cancel)
            except SetupError:
                if child.launcher is Launcher.COLD:
                    raise
                _log.warning("a warm run was lost; it is run again, cold", exc_info=True)
        with contextlib.ExitStack() as scope:
            return supervise(scope.enter_context(self._spawn(plan, self._cold.make(), before)), plan, cancel)

    def _spawn(
        self, plan: Plan, waiting: Waiting, before: Callable[[], None]
    ) -> contextlib.AbstractContextManager[Child]:
        return spawn(plan, waiting, self._staging, before, self._undertaker.take)

    def _child(self, plan: Plan, scope: contextlib.ExitStack, before: Callable[[], None], *, patient: bool) -> Child:
        """Give a child under way, warm where one can be had; where one fails before, nothing of the guest's has run."""
        lent = self._zygotes.lend(plan, patient=patient)
        if lent is not None:
            try:
                return scope.enter_context(self._spawn(plan, lent.child, before))
            except SetupError:
                _log.warning("a warm child failed before its run; the run is cold", exc_info=True)
                lent.doubt()
        return scope.enter_context(self._spawn(plan, self._cold.make(), before))

    def enclose(
        self,
        words: Sequence[str],
        shown: Mapping[str, Path],
        *,
        memory_bytes: int,
        processes: int,
        path: str = "/usr/bin",
    ) -> Enclosed:
        """Start the guests' Python as a program of ours behind the same walls, for work on hostile input.

        Args:
            words: what follows the interpreter on its command line.
            shown: places inside, absolute -> what is shown there, read-only, besides what every guest sees. What a
                guest's uid could not read is copied.
            memory_bytes: what it may hold with all that it starts.
            processes: how many tasks it may be with those.
            path: its ``PATH``, the one variable it has besides ``LANG``.

        Raises SetupError. Call :meth:`Enclosed.confirm` before it is told anything.
        """
        return self._enclosures.start(words, shown, memory_bytes=memory_bytes, processes=processes, path=path)

    def vet(self, job: Job) -> Plan:
        """Raise what :meth:`run` would raise before it starts anything; give the plan, which holds the code again."""
        return policy.plan(job, self.host, self.config)

    @property
    def runtimes(self) -> Mapping[str, Runtime]:
        """Canonical name of a language -> what runs it."""
        return self.host.runtimes

    @property
    def layers(self) -> tuple[str, ...]:
        """What holds for every run, in the contract's words."""
        return policy.layers(self.host)

    @property
    def lacking(self) -> tuple[str, ...]:
        """What this machine lacks and the operator accepted."""
        return ("cgroup",) if self.host.meter_kind == "watch" else ()

    @property
    def ceilings(self) -> Limits:
        """The most a job may ask for."""
        return policy.ceilings(self.config, self.host)

    @property
    def warmth(self) -> tuple[ForkServerState, ...]:
        """What each fork server tells of itself, the smallest first; none where the warm path is switched off."""
        return self._zygotes.states()

    def warm_memory_bytes(self) -> Mapping[str, int]:
        """Name of each fork server that is up -> what it and its children hold. Looked up now, in some milliseconds."""
        return self._zygotes.memory_bytes()

    def preload(self, preloads: Sequence[Preload]) -> None:
        """Keep these fork servers from now on, the smallest first, one without imports. No run fails of it or waits."""
        self._zygotes.change(preloads)

    @property
    def host_cpus(self) -> int:
        """How many processors this process may use."""
        return len(self.host.cpu_numbers)

    def close(self) -> None:
        """Give everything back. No run may be under way; calling it twice is fine."""
        self._scope.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _nothing() -> None:
    """What is done before a run for whom nothing need be."""
