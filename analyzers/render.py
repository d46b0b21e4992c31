"""A report as text for people, JSON for programs, and annotations for a workflow. Other forms have their own files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from analyzers.model import Finding, Fix, Fixed, Parse, Report, Severity, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNNAMED = "<snippet>"
READ = {Parse.REPAIRED: "read after repairs", Parse.PARTIAL: "read in part", Parse.TEXT: "read as text only"}
_MOST_INDENT = 24
_MOST_FIX = 120
_COLORS = {
    "bold": "1", "dim": "2", "high": "1;31", "medium": "33", "low": "36", "info": "2", "fail": "1;31", "pass": "32",
    "incomplete": "1;33",
}  # fmt: skip
Paint = Callable[[str, str], str]
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
        "capability_lines": list(report.capability_lines),
        "findings": [_finding(finding) for finding in report.findings],
        **({} if report.fixed is None else {"fixed": fixed_dict(report.fixed, to_dict)}),
    }


def fixed_dict(fixed: Fixed, form: Callable[[Report], dict[str, Any]]) -> dict[str, Any]:
    """Return a fixed text as a JSON object; ``form`` is that of the report on what is left."""
    return {
        "code": sendable(fixed.code),
        "applied": [{**one._asdict(), "message": sendable(one.message)} for one in fixed.applied],
        "report": form(fixed.report),
    }


def to_json(reports: Report | Iterable[Report], *, indent: int | None = None) -> str:
    """Return one report as a JSON object, or several as an array whose objects also name their file."""
    if isinstance(reports, Report):
        return json.dumps(to_dict(reports), ensure_ascii=False, indent=indent)
    return json.dumps([{"file": one.filename, **to_dict(one)} for one in reports], ensure_ascii=False, indent=indent)


def to_text(reports: Report | Iterable[Report], *, color: bool = False) -> str:
    """Return each finding with its code, and a line for each source.

    Where a finding has its quote, the line is shown with a mark below; else the code alone. It is safe to print:
    nothing of the source can steer a terminal.
    """
    paint = _paint if color else _plain
    return "".join(f"{line}\n" for report in many(reports) for line in _text_lines(report, paint))


def to_github(reports: Report | Iterable[Report]) -> str:
    """Return workflow commands that show each finding beside its line."""
    return "".join(f"{line}\n" for report in many(reports) for line in _github_lines(report))


def many(reports: Report | Iterable[Report]) -> Iterable[Report]:
    """Return one report or several as several."""
    return (reports,) if isinstance(reports, Report) else reports


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "message": sendable(finding.message),
        **_span(finding.span),
        "cwe": finding.cwe,
        "snippet": sendable(finding.snippet),
        "fix": finding.fix and _fix(finding.fix),
        "also": list(finding.also),
        "fingerprint": finding.fingerprint,
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


def sendable(text: str) -> str:
    """Half of a surrogate pair cannot be sent as UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _text_lines(report: Report, paint: Paint) -> Iterable[str]:
    file = printable(report.filename or UNNAMED)
    if report.parse_error:
        error = report.parse_error
        yield f"{paint('bold', f'{file}:{error.line}:{error.column}')}: does not parse: {printable(error.message)}"
    for finding in report.findings:
        place = paint("bold", f"{file}:{finding.span.line}:{finding.span.column}")
        also = f" ({', '.join(finding.also)})" if finding.also else ""
        grade = paint(finding.severity.value, finding.severity.value)
        rule = paint("bold", finding.rule)
        yield f"{place}: {grade} {rule}{also} {finding.name}: {printable(finding.message)}"
        yield from _code_lines(finding, paint)
    yield f"{paint('bold', file)}: {paint(report.verdict.value, report.verdict.value)}: {summary(report)}"


def _code_lines(finding: Finding, paint: Paint) -> Iterable[str]:
    if finding.quote is None or finding.quote.start == finding.quote.end:
        if finding.snippet:
            yield f"    {printable(finding.snippet)}"
        return
    text, start, end = finding.quote
    before, marked, after = (_shown(part) for part in (text[:start], text[start:end], text[end:]))
    number = str(finding.span.line)
    margin = " " * len(number)
    indent = len(before) - len(before.lstrip(" "))
    cut = max(0, indent - _MOST_INDENT)
    yield f"  {paint('dim', f'{number} |')} {before[cut:]}{marked}{after}"
    mark = paint(finding.severity.value, "^" * max(1, _width(marked)))
    yield f"  {paint('dim', f'{margin} |')} {' ' * _width(before[cut:])}{mark}"
    if finding.fix:
        safety = "safe" if finding.fix.safe else "unsafe, check the result"
        edits = "; ".join(edit.text.strip() or "(removed)" for edit in finding.fix.edits)
        yield f"  {paint('dim', f'{margin} =')} fix ({safety}): {printable(edits)[:_MOST_FIX]}"


def _plain(_: str, text: str) -> str:
    return text


def _paint(kind: str, text: str) -> str:
    code = _COLORS.get(kind)
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def _shown(text: str) -> str:
    return printable(text.replace("\t", "    "))


def _width(text: str) -> int:
    """Columns that a terminal gives to a text: two for a wide character, none for a mark above the one before."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - most lines are ASCII

    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def summary(report: Report) -> str:
    """Say how many findings there are, of which severity, and what is not told."""
    words = [f"{count} {severity.value}" for severity, count in report.counts if count]
    parts = [f"{report.total} finding{'' if report.total == 1 else 's'}" + (f" ({', '.join(words)})" if words else "")]
    if report.total > len(report.findings):
        parts.append(f"{len(report.findings)} shown")
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed")
    if report.parse is not Parse.FULL:
        parts.append(READ[report.parse])
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
    return sendable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def printable(text: str) -> str:
    """Return a text in which whatever could steer a terminal is shown as an escape."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "replace").decode()
        for character in text
    )
