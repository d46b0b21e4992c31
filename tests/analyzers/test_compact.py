from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers import Report, analyze
from analyzers.compact import MOST_BYTES, MOST_LINE_BYTES, cut, to_compact, to_lines
from analyzers.model import Confidence, Edit, Finding, Fix, Parse, Severity, Span, Verdict

CODE = 'x = input()\ny = eval(x)\ntry:\n    import json\nexcept:\n    pass\npassword = "hunter2"\n'
# The first example of a process pays for imports.
UNHURRIED = settings(deadline=None)
NUMBERS = st.integers(1, 10**9)
FINDINGS = st.builds(
    Finding,
    rule=st.sampled_from(["FH101", "B608", "FH1234"]),
    name=st.just("some-rule"),
    severity=st.sampled_from(Severity),
    confidence=st.sampled_from(Confidence),
    message=st.text(max_size=500),
    span=st.builds(Span, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    cwe=st.none() | st.integers(1, 9999),
    snippet=st.text(max_size=300),
    fix=st.none() | st.builds(Fix, st.just((Edit(Span(1, 1, 1, 1), "x"),)), st.booleans()),
    fingerprint=st.just("0123456789abcdef"),
)


def report_of(findings: list[Finding]) -> Report:
    """Give a report of these findings."""
    counts = tuple((one, sum(finding.severity is one for finding in findings)) for one in Severity)
    return Report("python", Verdict.FAIL, findings=tuple(findings), total=len(findings), counts=counts)


@UNHURRIED
@given(FINDINGS)
def test_a_finding_keeps_its_bounds(finding: Finding) -> None:
    """Whatever is found, the JSON of a finding has at most 200 bytes and its line at most 100."""
    told = json.loads(to_compact(report_of([finding])))["findings"][0]
    assert len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()) <= MOST_BYTES
    _, line = to_lines(report_of([finding])).splitlines(keepends=True)
    assert len(line.encode()) <= MOST_LINE_BYTES
    assert line[:-1].isprintable()


@UNHURRIED
@given(st.lists(FINDINGS, max_size=12), st.integers(0, 2000), st.integers(0, 12))
def test_a_budget_is_kept_and_nothing_is_lost_in_silence(findings: list[Finding], size: int, number: int) -> None:
    """Of bytes and of findings, and what is left out is counted; only what is beside the findings is never cut."""
    report = report_of(findings)
    empty = len(to_compact(report, max_findings=0).encode())
    text = to_compact(report, max_findings=number, max_bytes=size)
    told = json.loads(text)
    assert len(told["findings"]) <= number
    assert len(text.encode()) <= max(size, empty)
    assert len(told["findings"]) + told.get("omitted", 0) == len(findings)
    lines = to_lines(report, max_findings=number, max_bytes=size).splitlines(keepends=True)
    assert len(lines) - 1 <= number
    assert len("".join(lines).encode()) <= max(size, len(lines[0].encode()))


def test_the_gravest_come_first() -> None:
    """By severity, then by place, whatever order the rules ran in; twice the same bytes."""
    report = analyze(CODE)
    told = json.loads(to_compact(report))
    assert [(one["sev"], one["at"]) for one in told["findings"]] == [
        ("high", "2:5-12"), ("high", "7:1-21"), ("low", "5:1-8"),
    ]  # fmt: skip
    assert to_compact(report) == to_compact(analyze(CODE))
    assert to_lines(report).splitlines() == [
        "fail: 3 found (2 high, 1 low)",
        "2:5 high FH101 CWE-95 input() (line 1) is run as code",
        "7:1 high FH201 CWE-798 password is set to a secret in the source (****)",
        "5:1 low FH301 CWE-396 a bare except catches everything, KeyboardInterrupt and SystemExit included",
    ]


def test_what_was_not_understood_is_said() -> None:
    """The reason, the lines, and how the text was read; several reports name their files."""
    told = json.loads(to_compact(analyze(b"\xff")))
    assert (told["verdict"], told["parse"]) == ("incomplete", "text")
    assert told["error"].startswith("1:1 ")
    assert told["unparsed"] == [[1, 1]]
    assert told["findings"] == []
    several = json.loads(to_compact([analyze("x", filename="a.py"), analyze("eval(x)", filename="b.py")]))
    assert [(one["file"], one["verdict"]) for one in several] == [("a.py", "pass"), ("b.py", "fail")]
    assert to_lines(analyze(b"\xff")) == "incomplete: 0 found, read as text only\n"
    assert to_lines(analyze("if (")) == "incomplete: 0 found, read after repairs\n"


def test_members_that_say_nothing_are_left_out() -> None:
    """A clean report costs a hundred bytes."""
    assert json.loads(to_compact(analyze("x = 1\n"))) == {
        "verdict": "pass", "language": "python", "parse": Parse.FULL.value, "counts": {}, "findings": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "most", "shown"), [("abc", 3, "abc"), ("abcdef", 5, "ab…"), ("ééé", 5, "é…"), ("abcd", 2, "")]
)
def test_texts_are_cut_between_characters(text: str, most: int, shown: str) -> None:
    """Never inside one, and an ellipsis says so where there is room for it."""
    assert cut(text, most) == shown


def test_fingerprints_survive_moved_lines() -> None:
    """New lines above, another indentation and another file change none; equal lines are told apart by their number."""
    before = analyze("eval(x)\ny = eval(z)\neval(x)\n", filename="a.py").findings
    after = analyze("import os\n\n\nif os:\n  eval(x)\n  y   = eval(z)\nx = 1\neval(x)\n", filename="b.py").findings
    assert len({finding.fingerprint for finding in before}) == 3
    assert [finding.fingerprint for finding in before] == [finding.fingerprint for finding in after]
    other = analyze("eval(w)\n").findings
    assert other[0].fingerprint not in {finding.fingerprint for finding in before}


def test_fingerprints_tell_nothing_of_a_secret() -> None:
    """Two values under one name give one fingerprint: none can be guessed from it."""
    one, other = (analyze(f'password = "{value}"\n').findings[0].fingerprint for value in ("hunter2", "letmein1"))
    assert one == other
