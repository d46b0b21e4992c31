"""One line of the contract: what is asked, and exactly what must be answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox import Job, Limits, Result, Status

Text = str | re.Pattern[str] | None


@dataclass(frozen=True)
class Weaker:
    """What a watch answers where it honestly cannot know more; ``because`` stands in docs/limits.md.

    With ``at_times`` a look may come in time, and the answer then is the one of a cgroup.
    """

    because: str
    changes: Mapping[str, Any]
    at_times: bool = False


@dataclass(frozen=True, kw_only=True)
class Case:
    """A behaviour. ``stdout`` and ``stderr`` are exact, or a pattern to be found, or None where all is allowed."""

    name: str
    code: str
    language: str = "python"
    limits: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.OK
    exit_code: int | None = 0
    signal: str | None = None
    stdout: Text = ""
    stderr: Text = ""
    limits_hit: tuple[str, ...] = ()
    watch: Weaker | None = None

    def __str__(self) -> str:
        return f"{self.name}-{self.language}"

    @property
    def job(self) -> Job:
        """The job to run. Ten seconds end what hangs, long before a test's patience does."""
        limits = {"wall_seconds": 10.0, **self.limits}
        return Job(code=self.code, language=self.language, limits=Limits(**limits), **self.options)

    def check(self, result: Result) -> None:
        """Hold the answer against what is written here."""
        wanted = {"status": self.status, "exit_code": self.exit_code, "signal": self.signal}
        wanted |= {"limits_hit": self.limits_hit, "stdout": self.stdout, "stderr": self.stderr}
        answers = [wanted]
        if self.watch and "watch" in result.layers:
            weaker = {**wanted, **self.watch.changes}
            answers = [wanted, weaker] if self.watch.at_times else [weaker]
        wrong = [_differences(result, answer) for answer in answers]
        assert {} in wrong, f"(got, wanted): {wrong}\n{result.stderr[-500:]}"
        assert result.stdout_bytes >= 0
        assert result.usage.wall_seconds > 0


def _differences(result: Result, answer: Mapping[str, Any]) -> dict[str, Any]:
    wrong = {}
    for name, want in answer.items():
        got = getattr(result, name)
        if name in ("stdout", "stderr") and (want is None or (isinstance(want, re.Pattern) and want.search(got))):
            continue
        if got != want:
            wrong[name] = (got, want)
    return wrong


# Verdicts, for the tables: each is what a Case is given by name.
Verdict = dict[str, Any]


def error(code: int = 1) -> Verdict:
    """A non-zero exit."""
    return {"status": Status.ERROR, "exit_code": code}


def signaled(name: str) -> Verdict:
    """A death by a signal that was the guest's own affair."""
    return {"status": Status.SIGNALED, "exit_code": None, "signal": name}


def ended(status: Status, *hits: str) -> Verdict:
    """An end by SIGKILL from us, or from the kernel in our name."""
    return {"status": status, "exit_code": None, "signal": "SIGKILL", "limits_hit": hits}


def failed(status: Status, *hits: str, code: int = 1) -> Verdict:
    """A failure of the guest's that the limits it hit explain."""
    return {"status": status, "exit_code": code, "limits_hit": hits}


def bash(name: str, code: str, **rest: Any) -> Case:
    """A case in bash."""
    return Case(name=name, code=code, language="bash", **rest)


def python(name: str, code: str, **rest: Any) -> Case:
    """A case in Python."""
    return Case(name=name, code=code, **rest)
