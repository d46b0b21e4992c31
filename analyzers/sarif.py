"""A report as SARIF 2.1.0, the form in which code hosts and editors take the findings of any analyser."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from analyzers.analyze import pages
from analyzers.model import Confidence, Finding, Fix, Report, Severity, Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note", Severity.INFO: "note"}
_SCORES = {Severity.HIGH: "8.0", Severity.MEDIUM: "5.0", Severity.LOW: "2.0", Severity.INFO: "0.0"}
_PRECISION = {Confidence.HIGH: "high", Confidence.MEDIUM: "medium", Confidence.LOW: "low"}
_SUFFIXES = {"python": "py", "go": "go", "bash": "sh", "markdown": "md", "notebook": "ipynb"}
_CWE = {"name": "CWE", "index": 0}
_FINGERPRINT = "fumehood/v1"


def to_sarif(reports: Report | Iterable[Report], *, version: str | None = None, indent: int | None = None) -> str:
    """Return the log of one run over these sources."""
    many = [reports] if isinstance(reports, Report) else list(reports)
    findings = [(report, finding) for report in many for finding in report.findings]
    labels: dict[str, Finding] = {}
    for _, finding in findings:
        labels.setdefault(finding.rule, finding)
    indexes = {rule: index for index, rule in enumerate(labels)}
    driver: dict[str, Any] = {
        "name": "Fumehood",
        "supportedTaxonomies": [_CWE],
        "rules": [_rule(finding) for finding in labels.values()],
    }
    if version:
        driver["semanticVersion"] = version
    cwes = sorted({finding.cwe for finding in labels.values() if finding.cwe})
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(many)],
        "artifacts": [{"location": {"uri": _uri(report)}, "sourceLanguage": report.language} for report in many],
        "taxonomies": [_cwe_taxonomy(cwes)],
        "results": [_result(report, finding, indexes[finding.rule]) for report, finding in findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=True, indent=indent)


def _rule(finding: Finding) -> dict[str, Any]:
    known = pages().get(finding.rule)
    page = known.text if known else finding.name.replace("_", " ")
    properties: dict[str, Any] = {"tags": ["security"], "precision": _PRECISION[finding.confidence]}
    properties["security-severity"] = _SCORES[finding.severity]
    described: dict[str, Any] = {
        "id": finding.rule,
        "name": finding.name,
        "shortDescription": {"text": page.split("\n", 1)[0]},
        "fullDescription": {"text": page},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "properties": properties,
    }
    if finding.cwe:
        properties["tags"].append(f"external/cwe/cwe-{finding.cwe}")
        target = {"id": str(finding.cwe), "toolComponent": _CWE}
        described["relationships"] = [{"target": target, "kinds": ["superset"]}]
    return described


def _result(report: Report, finding: Finding, index: int) -> dict[str, Any]:
    region: dict[str, Any] = _region(finding.span)
    if finding.snippet:
        region["snippet"] = {"text": finding.snippet}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(report)}, "region": region}}],
        "partialFingerprints": {_FINGERPRINT: finding.fingerprint},
        "properties": {
            "severity": finding.severity.value,
            "confidence": finding.confidence.value,
            "also": list(finding.also),
        },
    }
    if finding.cwe:
        result["taxa"] = [{"id": str(finding.cwe), "toolComponent": _CWE}]
    if finding.fix:
        result["fixes"] = [_fix(report, finding.fix)]
    return result


def _fix(report: Report, fix: Fix) -> dict[str, Any]:
    replacements = [{"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits]
    what = "Safe to apply." if fix.safe else "Check the result: it may behave differently."
    return {
        "description": {"text": what},
        "artifactChanges": [{"artifactLocation": {"uri": _uri(report)}, "replacements": replacements}],
    }


def _region(span: Span) -> dict[str, Any]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _invocation(reports: list[Report]) -> dict[str, Any]:
    notifications = [
        {
            "level": "warning",
            "message": {"text": f"does not parse: {report.parse_error.message}"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _uri(report)},
                        "region": {"startLine": report.parse_error.line, "startColumn": report.parse_error.column},
                    }
                }
            ],
        }
        for report in reports
        if report.parse_error
    ]
    return {"executionSuccessful": True, "toolExecutionNotifications": notifications}


def _cwe_taxonomy(numbers: list[int]) -> dict[str, Any]:
    return {
        "name": "CWE",
        "organization": "MITRE",
        "informationUri": "https://cwe.mitre.org/",
        "shortDescription": {"text": "The MITRE Common Weakness Enumeration"},
        "taxa": [
            {"id": str(number), "helpUri": f"https://cwe.mitre.org/data/definitions/{number}.html"}
            for number in numbers
        ],
    }


def _uri(report: Report) -> str:
    if report.filename is None:
        return f"snippet.{_SUFFIXES.get(report.language, 'txt')}"
    path = PurePosixPath(report.filename.replace("\\", "/"))
    text = quote(str(path), safe="/", errors="replace")
    return f"file://{text}" if path.is_absolute() else text
