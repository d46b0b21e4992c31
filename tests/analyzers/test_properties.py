from __future__ import annotations

import ast
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers import analyze
from analyzers.fix import apply
from analyzers.model import Report
from analyzers.python.tokens import code_only
from analyzers.render import to_dict, to_github, to_text
from analyzers.sarif import to_sarif
from analyzers.wire import report_from

# The first example of a process pays for imports.
UNHURRIED = settings(deadline=None)
PIECES = st.sampled_from(
    [
        "eval(x)", "exec (x)", "e = eval", "e(x)", "except:", "try:", "    pass",
        "\n", "\r\n", "\r", " ", "\t", "\x0c",
        "\0", "\ufeff", "é", "\U0001f600",
        "\u2028", "\ud800", '"', "'", '"""', "\\", "# nosec", "# noqa: S307", "#",
        'password = "hunter2"', 'f(api_key="a9Zk3Qw7Lm2X")', "ghp_" + "a1" * 18,
        "-----BEGIN PRIVATE KEY-----", "(", ")",
        "[", "]", "{", "}",
        "f'{eval(x)}'", "def f(p='x'):", "class A:", "lambda eval: ", "import pickle", ":", ";", "=",
        "subprocess.call(x, shell=True)", "global e", "match x:", "case [*_]:", "\u202e", "async ", "await x",
        ":=", "*",
        "# coding: latin-1", "# coding: utf-7", "+AAo-", "https://a:b2c3@d", "b'", 'rb"', "0" * 50,
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=25).map("".join),
    st.lists(PIECES, max_size=12).map("\n".join),
)


def check(report: Report, code: str | bytes) -> None:
    """Hold a report to what every report promises."""
    assert report.total == sum(count for _, count in report.counts) >= len(report.findings)
    assert report.parse != "full" or not report.unparsed
    assert report.parse not in {"partial", "text"} or report.unparsed
    assert (report.parse == "full") == (report.parse_error is None)
    noted = any(finding.rule.startswith("FH0") for finding in report.findings)
    failing = any(finding.severity != "info" for finding in report.findings)
    assert report.verdict == ("fail" if failing else "pass" if not report.unparsed and not noted else "incomplete")
    text = code if isinstance(code, str) else code.decode("latin-1")
    most = text.count("\n") + text.count("\r") + text.count("AAo") + 1
    for finding in report.findings:
        span = finding.span
        assert 1 <= span.line <= span.end_line <= most
        assert span.column >= 1
        assert (span.line, span.column) <= (span.end_line, span.end_column)
        assert span.end_column <= len(text) + 1
    assert list(report.findings) == sorted(report.findings, key=lambda finding: finding.span)
    assert report_from(json.loads(json.dumps(to_dict(report))), report.filename) == report
    assert to_text(report)
    to_github(report).encode()
    assert json.loads(to_sarif(report).encode())["version"] == "2.1.0"


@UNHURRIED
@given(TEXTS)
def test_any_text_gets_a_report(code: str) -> None:
    """No text raises, and what is reported lies inside the text."""
    check(analyze(code, fixes=True), code)


@UNHURRIED
@given(st.one_of(st.binary(max_size=200), TEXTS.map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_get_a_report(code: bytes) -> None:
    """No bytes raise either, whatever they claim to be."""
    check(analyze(code, fixes=True), code)


@UNHURRIED
@given(TEXTS)
def test_fixes_keep_a_program_a_program(code: str) -> None:
    """Applying everything that is offered leaves a program that parses, without the findings that were fixed."""
    report = analyze(code, fixes=True)
    fixes = [finding.fix for finding in report.findings if finding.fix]
    if fixes and not code.startswith("# coding") and "\ufeff" not in code:
        after = apply(code, fixes, unsafe=True)
        assert analyze(after).parse == "full"


@UNHURRIED
@given(TEXTS)
def test_blanking_moves_nothing(code: str) -> None:
    """Code without its strings and comments has the same length and lines."""
    code = code.replace("\r", "")
    blanked = code_only(code)
    assert len(blanked) == len(code)
    assert [i for i, c in enumerate(blanked) if c == "\n"] == [i for i, c in enumerate(code) if c == "\n"]


@UNHURRIED
@given(TEXTS)
def test_a_program_that_python_parses_is_read_in_full(code: str) -> None:
    """Whatever the interpreter's own parser accepts is parsed here too."""
    try:
        ast.parse(code.encode())
    except (SyntaxError, ValueError, UnicodeError):
        return
    assert analyze(code).parse == "full"
