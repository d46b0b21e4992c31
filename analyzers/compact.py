"""A report for a model to read: the gravest first, a bounded number of bytes a finding, and no more than was asked for.

Two forms: JSON (``to_compact``, at most 200 bytes a finding) and lines (``to_lines``, at most 100). Their order is the
same whenever the report is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from analyzers.model import Confidence, Finding, Parse, Report, Span
from analyzers.render import READ, fixed_dict, many, printable, sendable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 200
"""Of one finding, as JSON in UTF-8."""
MOST_LINE_BYTES = 100
"""Of one finding as a line, its end included."""
_MOST_WHY = 90
_MOST_CODE = 60
_LEAST_CODE = 8
_FINGERPRINT = 8
_CUT = "…"


def to_compact(
    reports: Report | Iterable[Report], *, max_findings: int | None = None, max_bytes: int | None = None
) -> str:
    """Return one report as a JSON object, or several as an array; the budget is that of each.

    Args:
        reports: What to tell.
        max_findings: The most findings to list; ``omitted`` counts the others.
        max_bytes: The most bytes of the whole object; what is said beside the findings is never cut.
    """
    if isinstance(reports, Report):
        return _dump(compact(reports, max_findings=max_findings, max_bytes=max_bytes))
    budget = {"max_findings": max_findings, "max_bytes": max_bytes}
    return _dump([{"file": sendable(one.filename or ""), **compact(one, **budget)} for one in reports])


def compact(report: Report, *, max_findings: int | None = None, max_bytes: int | None = None) -> dict[str, Any]:
    """Return the compact object. ``at`` is ``line:column-column`` or ``line:column-line:column``, ends exclusive.

    Left out where they say nothing: ``unparsed``, ``error``, ``suppressed``, ``capabilities``, ``omitted``, and of a
    finding ``conf`` (high), ``cwe``, ``code`` and ``fix`` (none).
    """
    told: dict[str, Any] = {"verdict": report.verdict.value, "language": report.language, "parse": report.parse.value}
    if report.parse_error:
        error = report.parse_error
        told["error"] = f"{error.line}:{error.column} {cut(sendable(error.message), _MOST_WHY)}"
    if report.unparsed:
        told["unparsed"] = [list(lines) for lines in report.unparsed]
    told["counts"] = {severity.value: count for severity, count in report.counts if count}
    if report.suppressed:
        told["suppressed"] = report.suppressed
    if report.capabilities:
        told["capabilities"] = list(report.capabilities)
    if report.fixed is not None:
        half = None if max_bytes is None else max_bytes // 2
        told["fixed"] = fixed_dict(report.fixed, lambda rest: compact(rest, max_findings=max_findings, max_bytes=half))
    listed = told["findings"] = []
    ordered = gravest_first(report)[:max_findings]
    told["omitted"] = report.total
    left = None if max_bytes is None else max_bytes - len(_dump(told).encode())
    for finding in ordered:
        one = _finding(finding)
        if left is not None:
            left -= len(_dump(one).encode()) + 1
            if left < 0:
                break
        listed.append(one)
    told["omitted"] = report.total - len(listed)
    if not told["omitted"]:
        del told["omitted"]
    return told


def to_lines(
    reports: Report | Iterable[Report], *, max_findings: int | None = None, max_bytes: int | None = None
) -> str:
    """Return a line for each report and one for each finding: ``29:11 high FH101 CWE-95 eval runs …``."""
    parts = []
    for report in many(reports):
        head = f"{printable(report.filename)}: " if report.filename else ""
        counts = ", ".join(f"{count} {severity.value}" for severity, count in report.counts if count)
        read = "" if report.parse is Parse.FULL else f", {READ[report.parse]}"
        first = f"{head}{report.verdict.value}: {report.total} found{f' ({counts})' if counts else ''}{read}\n"
        left = None if max_bytes is None else max_bytes - len(first.encode())
        lines = []
        for finding in gravest_first(report)[:max_findings]:
            line = _line(finding)
            if left is not None:
                left -= len(line.encode())
                if left < 0:
                    break
            lines.append(line)
        parts += [first, *lines]
    return "".join(parts)


def gravest_first(report: Report) -> list[Finding]:
    """Return the findings, the gravest first, and among equals as they stand in the text."""
    return sorted(report.findings, key=lambda one: (-one.severity.rank, one.span, one.rule))


def _finding(finding: Finding) -> dict[str, Any]:
    told: dict[str, Any] = {"rule": finding.rule, "sev": finding.severity.value}
    if finding.confidence is not Confidence.HIGH:
        told["conf"] = finding.confidence.value
    told["at"] = _place(finding.span)
    if finding.cwe:
        told["cwe"] = finding.cwe
    told["why"] = ""
    if finding.fix:
        told["fix"] = "safe" if finding.fix.safe else "unsafe"
    told["fp"] = finding.fingerprint[:_FINGERPRINT]
    left = MOST_BYTES - len(_dump(told).encode())
    told["why"] = _fitting(sendable(finding.message), min(left, _MOST_WHY))
    left = MOST_BYTES - len(_dump(told).encode()) - len(',"code":""')
    if finding.snippet and left >= _LEAST_CODE:
        told["code"] = _fitting(sendable(finding.snippet), min(left, _MOST_CODE))
    return told


def _line(finding: Finding) -> str:
    cwe = f" CWE-{finding.cwe}" if finding.cwe else ""
    head = f"{finding.span.line}:{finding.span.column} {finding.severity.value} {finding.rule}{cwe} "
    return cut(head + printable(finding.message), MOST_LINE_BYTES - 1) + "\n"


def _place(span: Span) -> str:
    end = f"{span.end_line}:{span.end_column}" if span.end_line != span.line else f"{span.end_column}"
    return f"{span.line}:{span.column}-{end}"


def _fitting(text: str, most: int) -> str:
    """Cut a text so that, escaped as JSON, it has at most so many bytes."""
    size = most
    while True:
        shorter = cut(text, size)
        over = len(_dump(shorter).encode()) - 2 - most
        if over <= 0:
            return shorter
        size -= over


def cut(text: str, most: int) -> str:
    """Cut a text to so many bytes of UTF-8, on a character's boundary; an ellipsis says that it was cut."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return text
    room = most - len(_CUT.encode())
    return raw[:room].decode("utf-8", "ignore") + _CUT if room >= 0 else ""


def _dump(value: Any) -> str:  # noqa: ANN401 - any part of a report
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
