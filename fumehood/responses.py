"""The wire, outwards: Result -> response. Field names and units are the contract's."""

from __future__ import annotations

import base64
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

import sandbox
from analyzers import Confidence, Parse, Severity, Verdict
from fumehood.schemas import Encoding
from sandbox import Launcher, NetworkKind, Result, SkipReason, Status


class Told(BaseModel):
    """What every answer is: closed and frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FileOut(Told):
    """A collected file; ``content`` is its text where it is UTF-8, else base64. ``bytes`` counts the file's own."""

    path: str
    bytes: int
    content: str
    encoding: Encoding
    sha256: str


class SkippedFile(Told):
    """A match of ``collect`` that stayed behind, and why."""

    path: str
    reason: SkipReason


class Usage(Told):
    """What the run spent, from the moment the guest could run; ``queue_seconds`` is the wait before it."""

    wall_seconds: float
    cpu_seconds: float
    peak_memory_bytes: int
    peak_processes: int
    queue_seconds: float


class Edit(Told):
    """Replace the text between two places by ``text``. Lines and columns count from 1, columns in characters."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(Told):
    """A mend; ``safe`` says that it cannot change what correct code does."""

    edits: tuple[Edit, ...]
    safe: bool


class FindingOut(Told):
    """One thing the analyser found. A secret's value is masked in ``snippet`` and ``message``."""

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    line: int
    column: int
    end_line: int
    end_column: int
    cwe: int | None
    snippet: str
    fix: Fix | None
    also: tuple[str, ...]
    fingerprint: str


class ParseErrorOut(Told):
    """Why the text is not a program, and where that shows."""

    line: int
    column: int
    message: str


class AppliedFix(Told):
    """A fix that was made: for which finding, in which line of the text of its round, and in which round, from 1."""

    rule: str
    name: str
    line: int
    message: str
    safe: bool
    round: int


class FixedOut(Told):
    """The text after its fixes, what was done to it, and the report on what is left."""

    code: str
    applied: tuple[AppliedFix, ...]
    report: Analysis


class CompactFixed(Told):
    """The same beside a compact report."""

    code: str
    applied: tuple[AppliedFix, ...]
    report: CompactResponse


class Analysis(Told):
    """What the analyser says about a source. ``unparsed`` holds first and last line of what no parser understood."""

    language: str
    verdict: Verdict
    parse: Parse
    parse_error: ParseErrorOut | None
    unparsed: tuple[tuple[int, int], ...]
    total: int
    counts: dict[Severity, int]
    suppressed: int
    capabilities: tuple[str, ...]
    capability_lines: tuple[int, ...]
    findings: tuple[FindingOut, ...]


class AnalyzeResponse(Analysis):
    """The report on the text that was sent; ``fixed`` is there where ``apply_fixes`` was asked for."""

    fixed: FixedOut | None = None


class CompactFinding(Told):
    """One finding for a model. ``at`` is ``line:column-column`` or ``line:column-line:column``; ends are exclusive."""

    rule: str
    sev: Severity
    conf: Confidence = Confidence.HIGH
    at: str
    cwe: int | None = None
    why: str
    fix: Literal["safe", "unsafe"] | None = None
    fp: str
    code: str = ""


class CompactResponse(Told):
    """The compact format. Members that say nothing are left out."""

    verdict: Verdict
    language: str
    parse: Parse
    error: str | None = None
    unparsed: tuple[tuple[int, int], ...] = ()
    counts: dict[Severity, int]
    suppressed: int = 0
    capabilities: tuple[str, ...] = ()
    fixed: CompactFixed | None = None
    findings: tuple[CompactFinding, ...]
    omitted: int = 0


class RunAnalysis(Analysis):
    """The analysis made before a run; ``blocked_because`` is null where the run was let through."""

    blocked_because: str | None


class ExecuteResponse(Told):
    """The verdict on one run. Where nothing was run ``launcher`` is null and ``layers`` is empty."""

    id: str
    status: Status
    exit_code: int | None
    signal: str | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    stdout_truncated: bool
    stderr_truncated: bool
    files: tuple[FileOut, ...]
    files_skipped: tuple[SkippedFile, ...]
    usage: Usage
    limits_hit: tuple[str, ...]
    launcher: Launcher | None
    runtime: str
    layers: tuple[str, ...]
    analysis: RunAnalysis | None


class InPlace(Told):
    """The problem of a run that has no result, in its place."""

    problem: dict[str, Any]


class BatchResponse(Told):
    """The results of a batch, in the order its runs were asked for. As NDJSON each of them is a line."""

    id: str
    results: tuple[ExecuteResponse | InPlace, ...]


def ran(run_id: str, result: Result, queue_seconds: float, analysis: RunAnalysis | None) -> ExecuteResponse:
    """The response for a job that the engine ran."""
    return ExecuteResponse(
        id=run_id,
        status=result.status,
        exit_code=result.exit_code,
        signal=result.signal,
        stdout=result.stdout,
        stderr=result.stderr,
        stdout_bytes=result.stdout_bytes,
        stderr_bytes=result.stderr_bytes,
        stdout_truncated=result.stdout_truncated,
        stderr_truncated=result.stderr_truncated,
        files=tuple(_file_out(file) for file in result.files),
        files_skipped=tuple(SkippedFile(path=file.path, reason=file.reason) for file in result.files_skipped),
        usage=Usage(
            wall_seconds=result.usage.wall_seconds,
            cpu_seconds=result.usage.cpu_seconds,
            peak_memory_bytes=result.usage.peak_memory_bytes,
            peak_processes=result.usage.peak_processes,
            queue_seconds=queue_seconds,
        ),
        limits_hit=result.limits_hit,
        launcher=result.launcher,
        runtime=result.runtime,
        layers=result.layers,
        analysis=analysis,
    )


def never_ran(
    run_id: str, status: Status, runtime: str, queue_seconds: float, analysis: RunAnalysis | None = None
) -> ExecuteResponse:
    """The response for a job that was blocked, or cancelled before it had a slot."""
    return ExecuteResponse(
        id=run_id,
        status=status,
        exit_code=None,
        signal=None,
        stdout="",
        stderr="",
        stdout_bytes=0,
        stderr_bytes=0,
        stdout_truncated=False,
        stderr_truncated=False,
        files=(),
        files_skipped=(),
        usage=Usage(
            wall_seconds=0.0, cpu_seconds=0.0, peak_memory_bytes=0, peak_processes=0, queue_seconds=queue_seconds
        ),
        limits_hit=(),
        launcher=None,
        runtime=runtime,
        layers=(),
        analysis=analysis,
    )


def _file_out(file: sandbox.OutputFile) -> FileOut:
    try:
        content, encoding = file.content.decode(), Encoding.UTF_8
    except UnicodeDecodeError:
        content, encoding = base64.b64encode(file.content).decode(), Encoding.BASE64
    return FileOut(path=file.path, bytes=len(file.content), content=content, encoding=encoding, sha256=file.sha256)


class CancelResponse(Told):
    """The run of this id has been told to end; its own response says how it ended."""

    id: str
    cancelled: bool


class Health(Told):
    """The service answers."""

    status: Literal["ok"] = "ok"


class Check(Told):
    """One probe of ``/readyz``. What it saw in detail is for ``fumehood doctor``: this answer needs no key."""

    name: str
    layer: str | None
    held: bool
    required: bool


class Ready(Told):
    """A real snippet ran and every promised layer held. ``lacking`` are the absences the operator accepted.

    Without a fork server that is up runs are cold, which is slower and no less safe.
    """

    ready: bool
    layers: tuple[str, ...]
    lacking: tuple[str, ...]
    fork_servers: tuple[ForkServer, ...]
    checks: tuple[Check, ...]


class LimitsOut(Told):
    """Numbers for each limit of a run."""

    wall_seconds: float
    cpu_seconds: float
    memory_bytes: int
    processes: int
    output_bytes: int
    disk_bytes: int
    inodes: int
    open_files: int
    cpus: float


class RuntimeOut(Told):
    """A language that can be run; ``limits`` are what a run of it has that asks for nothing."""

    name: str
    aliases: tuple[str, ...]
    version: str
    packages: dict[str, str]
    limits: LimitsOut


class ForkServer(Told):
    """One fork server: whether it is up, how many children wait in it, and why it is not up.

    ``memory_bytes`` is what it holds with all its children, pages that they share counted once; null while it is down.
    """

    name: str
    up: bool
    waiting: int
    memory_bytes: int | None
    reason: str | None


class LimitsRange(Told):
    """What a run has when it asks for nothing, and the most it may ask for."""

    defaults: LimitsOut
    ceilings: LimitsOut


class FilesRange(Told):
    """How many files, and bytes in all, go in and come out."""

    files_in: int
    files_in_bytes: int
    files_out: int
    files_out_bytes: int


class AnalysisOffer(Told):
    """The languages the analyser reads."""

    languages: tuple[str, ...]


class Capabilities(Told):
    """What this service can do for this caller, on this machine, under these settings."""

    version: str
    runtimes: tuple[RuntimeOut, ...]
    limits: LimitsRange
    files: FilesRange
    body_bytes: int
    networks: tuple[NetworkKind, ...]
    analysis: AnalysisOffer
    concurrency: int
    queue: int
    rate_per_minute: int | None
    layers: tuple[str, ...]
    lacking: tuple[str, ...]
    fork_servers: tuple[ForkServer, ...]
