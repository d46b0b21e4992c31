"""Stand-ins for the engine and the analyser, for what only a scripted one can show: a full line, a broken step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from analyzers import (
    Confidence,
    Edit,
    Finding,
    Fix,
    Report,
    Severity,
    Span,
    Verdict,
    language_named,
)
from sandbox import (
    Cancel,
    ForkServerState,
    Job,
    JobRefused,
    Launcher,
    Limits,
    NetworkKind,
    NotBuilt,
    OverCeiling,
    Result,
    Runtime,
    Status,
    Usage,
)
from sandbox.model import RuntimeKind

RUNTIMES = {
    "python": Runtime(
        name="python",
        aliases=("python3", "py"),
        kind=RuntimeKind.PYTHON,
        command=("python3",),
        source_name="main.py",
        version="python 3.11.7",
        packages={"numpy": "2.3.0"},
    ),
    "bash": Runtime(
        name="bash",
        aliases=("sh",),
        kind=RuntimeKind.EXEC,
        command=("bash",),
        source_name="main.sh",
        version="bash 5.2",
        limits=Limits(wall_seconds=5),
    ),
}


def result(status: Status = Status.OK, **changed: object) -> Result:
    """Give a verdict; what is not named is that of a snippet that printed 42."""
    values: dict[str, object] = {
        "status": status,
        "exit_code": 0 if status is Status.OK else None,
        "signal": None,
        "stdout": "42\n",
        "stderr": "",
        "stdout_bytes": 3,
        "stderr_bytes": 0,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "files": (),
        "files_skipped": (),
        "usage": Usage(
            wall_seconds=0.004, cpu_seconds=0.002, peak_memory_bytes=9_000_000, peak_processes=1, spawn_seconds=0.003
        ),
        "limits_hit": (),
        "launcher": Launcher.COLD,
        "runtime": "python 3.11.7",
        "layers": ("user", "pid"),
    }
    return Result(**{**values, **changed})  # type: ignore[arg-type]


class ScriptedBox:
    """An engine that runs nothing. A job with the code ``wait`` lasts until it is cancelled or ``let_go`` is set."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything, as if new."""
        self.jobs: list[Job] = []
        self.ended: list[Job] = []
        self.let_go = threading.Event()
        self.waiting = threading.Semaphore(0)
        self.script: Callable[[Job], Result] = lambda _: result()
        self.lacking: tuple[str, ...] = ()
        self.ceilings = Limits(
            wall_seconds=300,
            cpu_seconds=600,
            memory_bytes=4 << 30,
            processes=512,
            output_bytes=16 << 20,
            disk_bytes=2 << 30,
            inodes=65_536,
            open_files=4096,
            cpus=2,
        )

    layers: tuple[str, ...] = ("user", "pid")
    warmth: tuple[ForkServerState, ...] = (
        ForkServerState(name="bare", up=True, settled=True, waiting=2, reason="", pid=11, started=3, failures=0),
        ForkServerState(
            name="data", up=False, settled=True, waiting=0, reason="no memory", pid=None, started=0, failures=4
        ),
    )
    runtimes: Mapping[str, Runtime] = RUNTIMES

    def warm_memory_bytes(self) -> Mapping[str, int]:
        """Tell of the one that is up."""
        return {"bare": 9_000_000}

    def vet(self, job: Job) -> None:
        """Refuse as the engine does, for one field of each kind."""
        if job.language not in {"python", "python3", "py", "bash", "sh"}:
            raise JobRefused("language", "known: python, bash")
        if job.limits.wall_seconds > self.ceilings.wall_seconds:
            raise OverCeiling("limits.wall_seconds", "may be at most 300.0")
        if job.network.kind is not NetworkKind.NONE:
            raise NotBuilt("network.kind", "not in this version")

    def run(
        self,
        job: Job,
        *,
        cancel: Cancel | None = None,
        patient: bool = False,  # noqa: ARG002 - as the engine has it
        before: Callable[[], None] | None = None,
    ) -> Result:
        """Note the job, and end it as the script says."""
        assert cancel is not None
        if before is not None:
            before()
        self.jobs.append(job)
        try:
            if job.code == "wait":
                self.waiting.release()
                while not self.let_go.wait(0.005):
                    if cancel.is_set():
                        return result(Status.CANCELLED, stdout="part", stdout_bytes=4)
            return self.script(job)
        finally:
            self.ended.append(job)


class ScriptedAnalyser:
    """An analyser that finds ``eval`` and cannot read what holds ``???``."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything, as if new."""
        self.asked: list[str] = []

    def analyze(self, code: str, language: str, *, threshold: Severity, **_: object) -> Report:
        """Look for two words."""
        self.asked.append(code)
        language_named(language)
        if "???" in code:
            return Report(language=language, verdict=Verdict.INCOMPLETE)
        if "eval" not in code:
            return Report(language=language, verdict=Verdict.PASS)
        span = Span(1, 1, 1, 5)
        finding = Finding(
            rule="FH101",
            name="eval-used",
            severity=Severity.HIGH if "secret" not in code else Severity.LOW,
            confidence=Confidence.HIGH,
            message="eval runs any expression",
            span=span,
            cwe=95,
            snippet="eval(x)",
            fix=Fix((Edit(span, "ast.literal_eval"),), safe=False),
            also=("B307",),
        )
        failed = finding.severity.rank >= threshold.rank
        return Report(
            language=language,
            verdict=Verdict.FAIL if failed else Verdict.PASS,
            total=1,
            counts=tuple((level, int(level is finding.severity)) for level in Severity),
            findings=(finding,),
        )
