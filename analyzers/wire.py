"""The conversation with a worker: frames of four bytes of length and a JSON object, and a report read back strictly."""

from __future__ import annotations

import json
import struct
from collections import Counter

from analyzers.model import (
    Applied,
    Confidence,
    Edit,
    Finding,
    Fix,
    Fixed,
    Parse,
    ParseError,
    Report,
    Severity,
    Span,
    Verdict,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

HEAD = struct.Struct(">I")
MAX_FRAME = 128 << 20


class BrokenFrameError(ValueError):
    """What came is not what the other side would send."""


def pack(message: dict[str, Any]) -> bytes:
    """Return a message as one frame. ASCII only: half surrogates in a text survive as escapes."""
    body = json.dumps(message).encode()
    return HEAD.pack(len(body)) + body


def read_frame(stream: BinaryIO) -> dict[str, Any] | None:
    """Read one message; None at the end of the stream."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    return unpack(stream.read(HEAD.unpack(head)[0]))


def unpack(body: bytes) -> dict[str, Any]:
    """Return the message of a frame's body."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError("not JSON") from error
    if not isinstance(message, dict):
        raise BrokenFrameError("not an object")
    return message


def report_from(data: Any, filename: str | None) -> Report:  # noqa: ANN401 - JSON from a process that read hostile text
    """Build a report from its JSON. Raises BrokenFrameError for what :mod:`analyzers.render` would not write."""
    try:
        error = data["parse_error"]
        report = Report(
            language=str(data["language"]),
            verdict=Verdict(data["verdict"]),
            parse=Parse(data["parse"]),
            parse_error=error and ParseError(int(error["line"]), int(error["column"]), str(error["message"])),
            unparsed=tuple((int(first), int(last)) for first, last in data["unparsed"]),
            total=int(data["total"]),
            counts=tuple((severity, int(data["counts"][severity])) for severity in Severity),
            suppressed=int(data["suppressed"]),
            capabilities=tuple(map(str, data["capabilities"])),
            capability_lines=tuple(map(int, data["capability_lines"])),
            findings=tuple(map(_finding, data["findings"])),
            filename=filename,
            fixed=None if data.get("fixed") is None else _fixed(data["fixed"], filename),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenFrameError("not a report") from error
    if not _adds_up(report):
        raise BrokenFrameError("numbers that do not add up")
    return report


def _adds_up(report: Report) -> bool:
    """Whether the counts are those of at least the findings that are listed, and each capability has its line."""
    counted = dict(report.counts)
    listed = Counter(finding.severity for finding in report.findings)
    return (
        report.total == sum(counted.values())
        and all(counted[severity] >= listed[severity] for severity in Severity)
        and len(report.capabilities) == len(report.capability_lines)
    )


def _fixed(data: dict[str, Any], filename: str | None) -> Fixed:
    applied = tuple(
        Applied(
            rule=str(one["rule"]),
            name=str(one["name"]),
            line=int(one["line"]),
            message=str(one["message"]),
            safe=bool(one["safe"]),
            round=int(one["round"]),
        )
        for one in data["applied"]
    )
    if data["report"].get("fixed") is not None:
        raise BrokenFrameError("fixed twice")
    return Fixed(str(data["code"]), applied, report_from(data["report"], filename))


def _finding(data: dict[str, Any]) -> Finding:
    fix = data["fix"]
    return Finding(
        rule=str(data["rule"]),
        name=str(data["name"]),
        severity=Severity(data["severity"]),
        confidence=Confidence(data["confidence"]),
        message=str(data["message"]),
        span=_span(data),
        cwe=None if data["cwe"] is None else int(data["cwe"]),
        snippet=str(data["snippet"]),
        fix=fix and Fix(tuple(Edit(_span(edit), str(edit["text"])) for edit in fix["edits"]), bool(fix["safe"])),
        also=tuple(map(str, data["also"])),
        fingerprint=str(data["fingerprint"]),
    )


def _span(data: dict[str, Any]) -> Span:
    return Span(int(data["line"]), int(data["column"]), int(data["end_line"]), int(data["end_column"]))
