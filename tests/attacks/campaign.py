"""Every engine, and all that is tried on it."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace

from engines import Engine, Outcome
from payload import Payload

from sandbox.model import Launcher

LAUNCHERS = (Launcher.COLD, Launcher.WARM)
AT_ONCE = min(2, os.cpu_count() or 1)
"""Engines of one kind, which share its payloads: much of what these do is to wait."""


class Attacks:
    """Every engine, and the payloads that run on them: started at once, but for those that run alone.

    ``start_engine`` gives a new one; only what is needed is started.
    """

    def __init__(self, start_engine: Callable[[str, Launcher], Engine]) -> None:
        self._start_engine = start_engine
        self._engines: dict[tuple[str, Launcher, str], list[Engine]] = {}
        self._started: dict[tuple[Payload, Launcher], Future[Outcome]] = {}
        self._controlled: dict[Payload, Future[dict[Payload, Outcome]]] = {}

    def _those(self, meter: str, launcher: Launcher, use: str) -> list[Engine]:
        """Give the engines of a kind, for attacks or for their controls."""
        kind = (meter, launcher, use)
        if kind not in self._engines:
            self._engines[kind] = [self._start_engine(meter, launcher) for _ in range(AT_ONCE)]
        return self._engines[kind]

    def start(self, chosen: list[tuple[Payload, Launcher]], controlled: list[Payload]) -> None:
        """Begin with those that may run beside others."""
        turns = itertools.count()
        for payload, launcher in chosen:
            if not payload.alone:
                engines = self._those(payload.meter, launcher, "attacks")
                self._started[payload, launcher] = engines[next(turns) % len(engines)].attack(payload)
        alike: dict[tuple[str, str], list[Payload]] = defaultdict(list)
        for payload in map(self._where, controlled):
            word, rest = payload.control
            alike[payload.meter, rest if word == "without" else ""].append(payload)
        for (meter, _), those in alike.items():
            engines = self._those(meter, Launcher.COLD, "controls")
            future = engines[next(turns) % len(engines)].controls(those)
            self._controlled |= dict.fromkeys(those, future)

    def _where(self, payload: Payload) -> Payload:
        """Give what stands for a control here: by the watch where there are no groups."""
        return replace(payload, meter="watch") if payload.meter == "cgroup" and self.missing("cgroup") else payload

    def outcome(self, payload: Payload, launcher: Launcher) -> Outcome:
        """Give what became of it, if need be after everything else is over."""
        if payload.alone:
            wait([*self._started.values(), *self._controlled.values()])
            return self._those(payload.meter, launcher, "attacks")[0].attack(payload).result()
        return self._started[payload, launcher].result()

    def control(self, payload: Payload) -> Outcome:
        """Give what became of it with its layer off."""
        where = self._where(payload)
        return self._controlled[where].result()[where]

    def runs_controls_of(self, payloads: list[Payload]) -> bool:
        """Whether all these were chosen."""
        return self._controlled.keys() >= set(map(self._where, payloads))

    def missing(self, meter: str) -> str:
        """Why there is no engine with this meter here."""
        known = [engines for (each, _, _), engines in self._engines.items() if each == meter]
        return (known or [self._those(meter, Launcher.COLD, "controls")])[0][0].missing
