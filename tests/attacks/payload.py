"""A payload: a hostile program whose leading comments say what it wants, what must stop it, and what must become of it.

=============================  ========================================================================================
aim, wall                      what it tries; the layer that must stop it, a word of WALLS, and how
expect, exit, signal           the status (``any`` where it is a race); the exit code; the signal's name, as a pattern
hits, says                     the whole of ``limits_hit``; a word that its output must hold
control                        what lets it through, and so proves that it can tell: see below
limits, stdin, collect         fields of ``Limits``; bytes of standard input; globs
times, at-once                 how often it is run; how many of these at once
differs                        no two of these runs may print the same
alone                          it takes so much of the machine that others beside it would get another verdict
files, skipped                 the names of all files returned; reasons that must be among the skipped
meters, machines               where it is meant to run: ``cgroup watch``, and any, where nothing is said
paced                          its deadlines are longer on a slow kernel, by the factor that it finds in ``PACE``: where
                               others' are not, as these are measured against the doses in their programs
absent                         ``uml``, where user-mode Linux has nothing of what it tries
open                           why it succeeds today: the test must fail, and says so when it no longer does
=============================  ========================================================================================

``KEY-watch`` is said of the engine without cgroups, ``KEY-v2`` of one with those of version 2, ``KEY-uml`` of
user-mode Linux. A payload that got what it wanted prints ``ESCAPED``; one that
makes bare system calls prints every answer (:mod:`calls`).

=============================  ========================================================================================
control: without NAME          the same engine with one layer off, of those in :mod:`weakened`
control: limits A=B …          the same engine with these limits instead
control: twice                 the program's text twice over in one run: it finds what it left itself
control: given                 the run is given, in a variable, what it must not find
control: none, REASON          there is nothing to take away
freed                          what then shows that it got through, where it is not ``ESCAPED``: ``says TEXT``,
                               ``status WORD``, ``left`` (something stays on the host), ``failure`` (the engine's own)
=============================  ========================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from here import METERS, V2

FOLDER = Path(__file__).with_name("payloads")
LANGUAGES = {".py": "python", ".sh": "bash"}
UML = "User Mode Linux" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
WALLS = frozenset(
    {
        *("user", "pid", "mount", "net", "ipc", "uts", "cgroupns"),  # namespaces
        *("meter", "rlimit", "quota", "clock", "output"),  # bounds
        *("seccomp", "no_new_privs", "uid"),
        *("init", "wire", "collection", "verdict"),  # what is ours
        "fresh",  # every run has a process and places of its own
    }
)


@dataclass(frozen=True)
class Payload:
    """One file, as a kind of meter reads it."""

    path: Path
    meter: str

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @cached_property
    def said(self) -> dict[str, str]:
        """What its header says for this meter."""
        lines = self.path.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
        pairs = (line.removeprefix("# ").partition(":") for line in lines)
        said = {key: value.removeprefix(" ") for key, _, value in pairs}
        for where in self._where:
            said |= {key.removesuffix(where): value for key, value in said.items() if key.endswith(where)}
        return said

    @property
    def _where(self) -> Iterator[str]:
        """Give the endings of keys that are meant for this meter here."""
        if self.meter == "watch":
            yield "-watch"
        elif V2:
            yield "-v2"
        if UML:
            yield "-uml"

    @property
    def code(self) -> str:
        """The program's text."""
        return self.path.read_text(encoding="utf-8")

    @property
    def language(self) -> str:
        """What runs it."""
        return LANGUAGES[self.path.suffix]

    @property
    def alone(self) -> bool:
        """Whether nothing may run beside it."""
        return bool({"alone", "at-once"} & self.said.keys())

    @property
    def is_meant(self) -> bool:
        """Whether this meter on this machine is where it runs."""
        meters = self.said.get("meters", "cgroup watch").split()
        machines = self.said.get("machines", os.uname().machine).split()
        return self.meter in meters and os.uname().machine in machines and not (UML and "absent" in self.said)

    @property
    def control(self) -> tuple[str, str]:
        """The first word of its control, and the rest."""
        word, _, rest = self.said["control"].partition(" ")
        return word.rstrip(","), rest

    @property
    def has_control(self) -> bool:
        """Whether it has one to run: under another meter only where it is another one."""
        other = "control-watch" in self.said or self.control[0] == "limits" or self.said.get("meters") == "watch"
        return self.control[0] != "none" and (self.meter == METERS[0] or other)

    @property
    def freed(self) -> tuple[str, str]:
        """What shows that its control got through: a word, and a text."""
        word, _, text = self.said.get("freed", "says ESCAPED").partition(" ")
        return word, text

    def limits(self, field: str = "limits") -> dict[str, float]:
        """Give the fields of ``Limits`` that it asks for, or its control."""
        text = self.control[1] if field == "control" else self.said.get(field, "")
        pairs = (pair.partition("=") for pair in text.split())
        return {name: float(value) if "." in value else int(value) for name, _, value in pairs}


def payloads(meter: str) -> list[Payload]:
    """Give all that are meant to run under a kind of meter here."""
    every = (Payload(path, meter) for path in sorted(FOLDER.iterdir()) if path.suffix in LANGUAGES)
    return [each for each in every if each.is_meant]
