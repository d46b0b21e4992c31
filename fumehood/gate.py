"""Whether code may run, by what the analyser says of it: every policy is asked, and any of them can say no.

Policies are never merged. The operator's, the key's and the request's each judge the report by themselves, so that
none of them can weaken another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from analyzers import Parse, Severity, Verdict
from analyzers.capabilities import denied
from analyzers.choice import fit, names_of
from fumehood.policies import AnalysisMode, AnalysisPolicy, Gap

if TYPE_CHECKING:
    from analyzers import Finding, Report

_STRICTNESS = {mode: rank for rank, mode in enumerate((AnalysisMode.OFF, AnalysisMode.REPORT, AnalysisMode.BLOCK))}
_NOTES = {"FH001": Gap.RULE_CRASHED, "FH002": Gap.CUT_SHORT, "FH003": Gap.ENGINE_MISSING, "FH004": Gap.NO_ANSWER}
_PARSED = {Parse.REPAIRED: Gap.REPAIRED, Parse.PARTIAL: Gap.PARTIAL, Parse.TEXT: Gap.TEXT}
_READ = {
    Gap.REPAIRED: "was understood only after repairs",
    Gap.PARTIAL: "was understood in part only",
    Gap.TEXT: "could not be understood as a program",
}
_MOST_REASON = 300


class Demand(NamedTuple):
    """A policy, and whose it is: ``service``, ``key`` or ``request``."""

    whose: str
    policy: AnalysisPolicy


class Gate(NamedTuple):
    """What goes before one run: the strictest mode that anybody demands, and every policy that may stop the run."""

    mode: AnalysisMode = AnalysisMode.OFF
    blocking: tuple[Demand, ...] = ()

    @property
    def threshold(self) -> Severity:
        """The severity from which on the report's verdict is ``fail``: the lowest that stops this run."""
        severities = [each.policy.block_at for each in self.blocking if each.policy.block_at is not None]
        return min(severities, key=lambda one: one.rank, default=Severity.LOW)

    def why_blocked(self, report: Report) -> str | None:
        """Say why this report stops the run; None where it may run."""
        for each in self.blocking:
            reasons = list(_reasons(report, each))
            if reasons:
                more = f"; and {len(reasons) - 1} more" if len(reasons) > 1 else ""
                return f"{reasons[0][:_MOST_REASON]}{more}"
        return None


def gate(demands: Iterable[Demand]) -> Gate:
    """The gate of a run about which these have something to say."""
    demands = tuple(demands)
    mode = max((each.policy.mode for each in demands), key=_STRICTNESS.__getitem__, default=AnalysisMode.OFF)
    return Gate(mode, tuple(each for each in demands if each.policy.mode is AnalysisMode.BLOCK))


def _reasons(report: Report, demand: Demand) -> Iterator[str]:
    whose, policy = demand
    notes = [finding for finding in report.findings if finding.rule in _NOTES]
    findings = [finding for finding in report.findings if finding.rule not in _NOTES]
    for finding in sorted(findings, key=lambda one: -one.severity.rank):
        why = _why(finding, whose, policy)
        if why is not None:
            yield f"{finding.rule} {finding.name} in line {finding.span.line} {why}"
    for capability in denied(report.capabilities, policy.deny_capabilities):
        line = report.capability_lines[report.capabilities.index(capability)]
        yield f"the code wants {capability} (line {line}), which the {whose} denies"
    unlisted = _unlisted(report, policy)
    if unlisted:
        yield f"{unlisted} findings are not listed, and could not be judged"
    yield from _gaps(report, notes, policy)
    if report.verdict is Verdict.INCOMPLETE and not notes and not report.unparsed:
        yield "the analysis is incomplete and does not say why"


def _why(finding: Finding, whose: str, policy: AnalysisPolicy) -> str | None:
    names = names_of(finding)
    against = max(policy.block, key=lambda one: fit(one, names), default="")
    blocks = fit(against, names) if against else -1
    allows = max((fit(one, names) for one in policy.allow), default=-1)
    if allows > blocks:
        return None
    if blocks >= 0:
        return f"is what the {whose} blocks by {against}"
    if policy.block_at is not None and finding.severity.rank >= policy.block_at.rank:
        return f"is {finding.severity}, and the {whose} blocks from {policy.block_at} on"
    return None


def _unlisted(report: Report, policy: AnalysisPolicy) -> int:
    """How many findings matter to the policy and are only counted: a report lists the gravest thousand."""
    listed = Counter(finding.severity for finding in report.findings)
    least = 0 if policy.block else None if policy.block_at is None else policy.block_at.rank
    if least is None:
        return 0
    return sum(max(0, count - listed[severity]) for severity, count in report.counts if severity.rank >= least)


def _gaps(report: Report, notes: list[Finding], policy: AnalysisPolicy) -> Iterator[str]:
    for note in notes:
        if _NOTES[note.rule] not in policy.accept:
            yield f"{_NOTES[note.rule]}: {note.message}"
    if any(_NOTES[note.rule] is Gap.NO_ANSWER for note in notes):
        return  # then nothing was read, and that is said
    gap = _PARSED.get(report.parse)
    if report.unparsed and gap is not Gap.TEXT:
        gap = Gap.PARTIAL  # what was mended and lost a line on the way is not whole either
    if gap is not None and gap not in policy.accept:
        error = report.parse_error
        yield f"{gap}: the code {_READ[gap]}" + (f" (line {error.line}: {error.message})" if error else "")
