"""What a run may do, in the analyser's words, and what its code wants beyond that; told before anything is spawned."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from analyzers.capabilities import Allowed, Wanted, unmet
from sandbox import NetworkKind
from sandbox.places import STANDING_TARGETS

if TYPE_CHECKING:
    from analyzers import Report
    from sandbox import Job


def with_unmet(report: Report, job: Job) -> Report:
    """The report with a finding for each thing that the code wants and the run does not have.

    They are for information: the verdict is about the code, and stays.
    """
    wanted = map(Wanted, report.capabilities, report.capability_lines)
    more = unmet(wanted, allowed(job))
    counts = tuple((grade, number + sum(one.severity is grade for one in more)) for grade, number in report.counts)
    return report._replace(findings=(*report.findings, *more), total=report.total + len(more), counts=counts)


def allowed(job: Job) -> Allowed:
    """What this run may do."""
    return Allowed(
        network=job.network.kind is not NetworkKind.NONE,
        processes=job.limits.processes,
        writable_paths=(*STANDING_TARGETS, "/dev", *job.writable_paths),
    )


def modules(job: Job) -> frozenset[str]:
    """The modules that the job brings along: what lies beside its source."""
    return frozenset(PurePosixPath(PurePosixPath(file.path).parts[0]).stem for file in job.files)
