"""A report as text for people, JSON for programs, and annotations for a workflow. SARIF has a file of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from analyzers.model import Finding, Fix, Parse, Report, Severity, Span

UNNAMED = "<snippet>"
_ANNOTATIONS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "warning", Severity.INFO: "notice"}


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as the contract's JSON object."""
    error = report.parse_error
    return {
        "language": report.language,
        "verdict": report.verdict.value,
        "parse": report.parse.value,
        "parse_error": error and {"line": error.line, "column": error.column, "message": error.message},
        "unparsed": [list(lines) for lines in report.unparsed],
        "total": report.total,
        "counts": {severity.value: count for severity, count in report.counts},
        "suppressed": report.suppressed,
        "capabilities": list(report.capabilities),
        "findings": [_finding(finding) for finding in report.findings],
    }


def to_json(reports: Report | Iterable[Report], *, indent: int | None = None) -> str:
    """Return one report as a JSON object, or several as an array whose objects also name their file."""
    if isinstance(reports, Report):
        return json.dumps(to_dict(reports), ensure_ascii=False, indent=indent)
    return json.dumps([{"file": one.filename, **to_dict(one)} for one in reports], ensure_ascii=False, indent=indent)


def to_text(reports: Report | Iterable[Report]) -> str:
    """Return one line a finding and one a source, safe to print: nothing of the source can steer a terminal."""
    return "".join(f"{line}\n" for report in _many(reports) for line in _text_lines(report))


def to_github(reports: Report | Iterable[Report]) -> str:
    """Return workflow commands that show each finding beside its line."""
    return "".join(f"{line}\n" for report in _many(reports) for line in _github_lines(report))


def _many(reports: Report | Iterable[Report]) -> Iterable[Report]:
    return (reports,) if isinstance(reports, Report) else reports


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "message": _sendable(finding.message),
        **_span(finding.span),
        "cwe": finding.cwe,
        "snippet": _sendable(finding.snippet),
        "fix": finding.fix and _fix(finding.fix),
        "also": list(finding.also),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {"edits": [{**_span(edit.span), "text": edit.text} for edit in fix.edits], "safe": fix.safe}


def _span(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _sendable(text: str) -> str:
    """Half of a surrogate pair cannot be sent as UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _text_lines(report: Report) -> Iterable[str]:
    file = _printable(report.filename or UNNAMED)
    if report.parse_error:
        error = report.parse_error
        yield f"{file}:{error.line}:{error.column}: does not parse: {_printable(error.message)}"
    for finding in report.findings:
        also = f" ({', '.join(finding.also)})" if finding.also else ""
        yield (
            f"{file}:{finding.span.line}:{finding.span.column}: {finding.severity.value} "
            f"{finding.rule}{also} {finding.name}: {_printable(finding.message)}"
        )
        if finding.snippet:
            yield f"    {_printable(finding.snippet)}"
    yield f"{file}: {report.verdict.value}: {_summary(report)}"


def _summary(report: Report) -> str:
    words = [f"{count} {severity.value}" for severity, count in report.counts if count]
    parts = [f"{report.total} finding{'' if report.total == 1 else 's'}" + (f" ({', '.join(words)})" if words else "")]
    if report.total > len(report.findings):
        parts.append(f"{len(report.findings)} shown")
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed")
    if report.parse is not Parse.FULL:
        parts.append(f"read as {report.parse.value} only")
    return ", ".join(parts)


def _github_lines(report: Report) -> Iterable[str]:
    file = f"file={_property(report.filename)}," if report.filename else ""
    if report.parse_error:
        error = report.parse_error
        place = f"{file}line={error.line},col={error.column},title=does not parse"
        yield f"::warning {place}::{_data(error.message)}"
    for finding in report.findings:
        span = finding.span
        place = f"{file}line={span.line},endLine={span.end_line},col={span.column},endColumn={span.end_column}"
        title = _property(f"{finding.rule} {finding.name}")
        yield f"::{_ANNOTATIONS[finding.severity]} {place},title={title}::{_data(finding.message)}"


def _data(text: str) -> str:
    return _sendable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _printable(text: str) -> str:
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "replace").decode()
        for character in text
    )
