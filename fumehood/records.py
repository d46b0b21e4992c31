"""A run's record: its columns as a run fills them, and the wire's words for it."""

from __future__ import annotations

import datetime as dt
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fumehood.responses import LimitsOut, Told, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fumehood.auth import Origin
    from fumehood.problems import Kind
    from fumehood.responses import ExecuteResponse
    from sandbox import Job

FAILED = "failed"
"""The status of a run that we failed, or refused after all; ``problem`` says how."""
_LONGEST_RUNTIME = 200


class ExecutionRecord(Told):
    """One accepted run. ``code`` is null unless the operator keeps it; what is not known yet is null."""

    id: str
    batch_id: str | None
    request_id: str | None
    key_id: str
    client: str | None
    status: str
    problem: str | None
    accepted_at: dt.datetime
    finished_at: dt.datetime | None
    language: str
    code_sha256: str
    code: str | None
    limits: LimitsOut
    network: str
    launcher: str | None
    runtime: str | None
    exit_code: int | None
    signal: str | None
    stdout_bytes: int | None
    stderr_bytes: int | None
    usage: Usage | None
    limits_hit: tuple[str, ...] | None


class ExecutionPage(Told):
    """Records, the newest first; ``next`` is the ``cursor`` of the page after this one, null on the last."""

    executions: tuple[ExecutionRecord, ...]
    next: str | None


def accepted(origin: Origin, run_id: str, batch_id: str | None, job: Job, language: str) -> dict[str, Any]:
    """The columns that are known when a run is accepted, but those of its code."""
    return {
        "run_id": run_id,
        "batch_id": batch_id,
        "request_id": origin.request_id,
        "key_id": origin.caller.name,
        "client": origin.client,
        "language": language,
        "limits": {each.name: getattr(job.limits, each.name) for each in fields(job.limits)},
        "network": job.network.kind.value,
    }


def ended(told: ExecuteResponse) -> dict[str, Any]:
    """The columns that an answer fills."""
    return {
        "status": told.status.value,
        "launcher": told.launcher.value if told.launcher else None,
        "runtime": told.runtime[:_LONGEST_RUNTIME],
        "exit_code": told.exit_code,
        "signal": told.signal,
        "stdout_bytes": told.stdout_bytes,
        "stderr_bytes": told.stderr_bytes,
        "usage": told.usage.model_dump(),
        "limits_hit": list(told.limits_hit),
    }


def failed(kind: Kind) -> dict[str, Any]:
    """The columns of a run that has no answer but this problem."""
    return {"status": FAILED, "problem": kind.value.slug}


def told(row: Mapping[Any, Any]) -> ExecutionRecord:
    """A row in the wire's words."""
    values = {name: row[name] for name in ExecutionRecord.model_fields if name != "id"}
    return ExecutionRecord.model_validate({"id": row["run_id"], **values})
