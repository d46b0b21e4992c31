"""A report as JUnit XML, which nearly every CI shows: a suite for each source, a failed case for each finding."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from analyzers.model import Finding, Report, Severity, Verdict
from analyzers.render import UNNAMED, many, sendable

# XML 1.0 knows no other control characters, and neither half of a surrogate pair (https://www.w3.org/TR/xml/#charsets).
_UNKNOWN = {code: 0xFFFD for code in (*range(0x20), 0xFFFE, 0xFFFF) if code not in {0x9, 0xA, 0xD}}


def to_junit(reports: Report | Iterable[Report]) -> str:
    """Return one document. Findings for information are output of a case that passed; what was not read is an error."""
    suites = list(many(reports))
    body = "".join(map(_suite, suites))
    counts = [_counts(report) for report in suites]
    tests, failures, errors = (sum(numbers[which] for numbers in counts) for which in range(3))
    numbers = f'tests="{tests}" failures="{failures}" errors="{errors}"'
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="fumehood" {numbers}>\n{body}</testsuites>\n'


def _counts(report: Report) -> tuple[int, int, int]:
    failures = sum(_fails(finding) for finding in report.findings)
    error = report.verdict is Verdict.INCOMPLETE
    return max(1, failures + error), failures, int(error)


def _fails(finding: Finding) -> bool:
    return finding.severity is not Severity.INFO


def _suite(report: Report) -> str:
    name = _attribute(report.filename or UNNAMED)
    tests, failures, errors = _counts(report)
    cases = [_failed(finding, name) for finding in report.findings if _fails(finding)]
    if errors:
        reason = report.parse_error.message if report.parse_error else "not everything could be analysed"
        cases.append(
            f'    <testcase name="analysis" classname={name}>\n      <error message={_attribute(reason)} '
            f'type="incomplete"/>\n    </testcase>\n'
        )
    if not cases:
        notes = "".join(f"{one.span.line}:{one.span.column} {one.rule} {one.message}\n" for one in report.findings)
        output = f"<system-out>{_text(notes)}</system-out>" if notes else ""
        cases.append(f'    <testcase name="analysis" classname={name}>{output}</testcase>\n')
    numbers = f'tests="{tests}" failures="{failures}" errors="{errors}"'
    return f"  <testsuite name={name} {numbers}>\n{''.join(cases)}  </testsuite>\n"


def _failed(finding: Finding, name: str) -> str:
    place = f"{finding.span.line}:{finding.span.column}"
    title = _attribute(f"{finding.rule} {finding.name} at {place}")
    kind = f'type="{finding.severity.value}"'
    body = _text(f"{place} {finding.message}\n{finding.snippet}")
    return (
        f'    <testcase name={title} classname={name} line="{finding.span.line}">\n'
        f"      <failure message={_attribute(finding.message)} {kind}>{body}</failure>\n    </testcase>\n"
    )


def _attribute(text: str) -> str:
    return quoteattr(sendable(text).translate(_UNKNOWN))


def _text(text: str) -> str:
    return escape(sendable(text).translate(_UNKNOWN))
