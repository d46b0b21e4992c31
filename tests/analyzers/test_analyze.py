from __future__ import annotations

import importlib
import json
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from analyzers import UnknownEngineError, UnknownLanguageError, analyze, languages
from analyzers.analyze import MAX_FINDINGS
from analyzers.python import look as python
from analyzers.python.interests import Table
from analyzers.render import to_dict, to_json

ROOT = Path(__file__).parents[2]


def rules(code: str | bytes) -> list[str]:
    """Give the rules that report something, in the order of the text."""
    return [finding.rule for finding in analyze(code).findings]


def test_the_example_of_the_contract() -> None:
    """The JSON for the contract's example is the contract's, word for word but for the message; one field is more."""
    report = to_dict(analyze("import ast\nx = input()\ny = eval(x)\n", fixes=True))
    assert report["findings"][0].pop("message")
    assert len(report["findings"][0].pop("fingerprint")) == 16
    assert report == {
        "language": "python",
        "verdict": "fail",
        "parse": "full",
        "parse_error": None,
        "unparsed": [],
        "total": 1,
        "counts": {"high": 1, "medium": 0, "low": 0, "info": 0},
        "suppressed": 0,
        "capabilities": ["dynamic.code"],
        "capability_lines": [3],
        "findings": [
            {
                "rule": "FH101",
                "name": "eval-used",
                "severity": "high",
                "confidence": "high",
                "line": 3,
                "column": 5,
                "end_line": 3,
                "end_column": 12,
                "cwe": 95,
                "snippet": "eval(x)",
                "fix": {
                    "edits": [{"line": 3, "column": 5, "end_line": 3, "end_column": 9, "text": "ast.literal_eval"}],
                    "safe": False,
                },
                "also": ["B307"],
            }
        ],
    }


def test_clean_code_passes() -> None:
    """Code without findings passes with an empty report."""
    report = analyze("print('hello')\n")
    assert (report.verdict, report.total, report.findings, report.suppressed) == ("pass", 0, (), 0)


def test_an_unknown_language_names_the_known_ones() -> None:
    """A language that nobody reads is refused with a ValueError that says which ones are read."""
    with pytest.raises(UnknownLanguageError, match="python") as caught:
        analyze("x", "cobol")
    assert isinstance(caught.value, ValueError)
    assert caught.value.known == languages()


@pytest.mark.parametrize("language", ["python", "python3", "py", "Python"])
def test_aliases_are_the_language(language: str) -> None:
    """The contract's aliases mean Python, and the report says the language's own name."""
    assert analyze("x = 1", language).language == "python"


@pytest.mark.parametrize(
    "code",
    [
        b"\xef\xbb\xbfx = 1\ny = eval(x)\n",
        "\ufeffx = 1\ny = eval(x)\n",
        "x = 1\r\ny = eval(x)\r\n",
        "x = 1\ry = eval(x)\r",
        b"x = 1\r\ny = eval(x)",
        "# coding: latin-1\ny = eval(x)\n".encode("latin-1"),
        "\x0cx = 1\ny = eval(x)\n",
    ],
)
def test_a_source_is_read_as_the_interpreter_reads_it(code: str | bytes) -> None:
    """Byte order marks, coding cookies, every kind of line end and form feeds move no finding."""
    (finding,) = analyze(code).findings
    assert (finding.span.line, finding.span.column, finding.snippet) == (2, 5, "eval(x)")


def test_a_coding_cookie_cannot_hide_code() -> None:
    """Text that becomes code only through its declared encoding is analysed as what would be run."""
    assert rules(b"# coding: utf-7\n# +AAo-eval(x)\n") == ["FH101"]
    assert rules("# coding: utf-7\n# +AAo-eval(x)\n") == ["FH101"]


@pytest.mark.parametrize(
    ("code", "column", "end"),
    [("é = eval(x)", 5, 12), ("'\U0001f600\U0001f600'; eval('é')", 7, 16), ("if 1:\n\t\teval(x)", 3, 10)],
)
def test_columns_count_characters(code: str, column: int, end: int) -> None:
    """A column counts characters, not bytes, also beyond the basic plane and in a very long line."""
    (finding,) = analyze(code).findings
    assert (finding.span.column, finding.span.end_column) == (column, end)


def test_columns_in_a_long_line_beyond_ascii() -> None:
    """Places far into a long line of wide characters are right."""
    (finding,) = analyze("x = '" + "é" * 10_000 + "'; eval(x)").findings
    assert (finding.span.column, finding.snippet) == (10_009, "eval(x)")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("eval(x)\nif (\n", 2),
        ("eval(x)\n\0\n", 1),
        ("eval(x)\n" + "(" * 1000, 2),
        ("eval(x)\ny = " + "-" * 20_000 + "1", 1),
        ("eval(x)\ny = a" + ".b" * 50_000, 1),
        ("eval(x)\ny = " + "+".join("a" * 50_000), 1),
        ("eval(x)\n" + "if a:\n pass\n" + "elif a:\n pass\n" * 20_000, 1),
        ("eval(x)\ny = " + "9" * 5000, 1),
        ("eval(x)\n'\ud800'", 1),
        (b"eval(x)\n'\xff'", 1),
        (b"# coding: nonsense\neval(x)", 1),
    ],
)
def test_text_that_does_not_parse_is_still_looked_at(code: str | bytes, line: int) -> None:
    """Whatever keeps a text from parsing is told with its line, and the token rules still see what they can."""
    report = analyze(code)
    assert report.parse != "full"
    assert report.parse_error is not None
    assert report.parse_error.line >= line
    assert report.verdict == "fail"
    assert [finding.rule for finding in report.findings] == ["FH101"]


def test_text_without_findings_is_incomplete() -> None:
    """Nothing found in text that does not parse is no pass."""
    assert analyze("def f(:\n").verdict == "incomplete"


def test_token_rules_see_code_and_nothing_else() -> None:
    """In unparsed text, eval in comments, strings, methods and definitions is left alone; the rest is seen."""
    code = '# eval(x)\n"eval(x)"\n"""\neval(x)\n"""\nmodel.eval()\ndef eval(x): pass\nast.literal_eval(x)\nif (\n'
    assert rules(code) == []
    seen = 'if (\neval(x)\nbuiltins.exec(x)\nexec "code"\ntry:\n  a\nexcept:\n  b\npassword = "hunter2"\n'
    assert sorted(rules(seen)) == ["FH101", "FH102", "FH102", "FH201", "FH301"]


def test_the_parsers_warnings_do_not_leak() -> None:
    """Odd escapes in the text neither warn nor raise, even where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert analyze(r"x = '\d'; 1 is 1").verdict == "pass"


def test_importing_the_package_is_light() -> None:
    """Neither Bandit nor LibCST is loaded before it is needed."""
    code = "import sys, analyzers, analyzers.render, analyzers.sarif, analyzers.isolate; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in ("bandit", "libcst", "pydantic", "fastapi", "sandbox", "fumehood"):
        assert f"'{name}'" not in done.stdout
    code = "import sys, analyzers; analyzers.analyze('f(x)'); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in ("bandit", "libcst"):
        assert f"'{name}'" not in done.stdout


def test_threads_get_the_same_answers() -> None:
    """Many analyses at once answer as one after the other do, and leave the warning filters alone."""
    codes = [
        f"import subprocess as s{n}\ns{n}.call(x, shell=True)\npassword = 'hunter{n}'\neval('\\d')\n" for n in range(40)
    ]
    before = list(warnings.filters)
    expected = [to_json(analyze(code, engines=("bandit",))) for code in codes]
    barrier = threading.Barrier(8)

    def many(_: int) -> list[str]:
        barrier.wait()
        return [to_json(analyze(code, engines=("bandit",))) for code in codes]

    with ThreadPoolExecutor(8) as threads:
        assert all(answers == expected for answers in threads.map(many, range(8)))
    assert list(warnings.filters) == before


def test_a_rule_that_crashes_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule's crash is told, other rules go on, and the report can no longer be a pass."""

    def crash(*_: object) -> object:
        raise RuntimeError("boom")

    broken = python.RULES[0]._replace(check=crash)
    table = Table((broken, *python.RULES[1:]))
    monkeypatch.setattr(python, "_table", lambda: table)
    report = analyze("password = 'hunter2'\nimport pickle\n")
    assert report.verdict == "incomplete"
    assert ("FH001", "info") in [(finding.rule, finding.severity) for finding in report.findings]
    assert "FH714" in [finding.rule for finding in report.findings]
    assert analyze("exec(x)\n").verdict == "fail"


def test_running_out_of_time_is_told() -> None:
    """An analysis that may take no time at all says that it did not look at everything."""
    report = analyze("f(x)\n" * 500, seconds=0.0)
    assert report.verdict == "incomplete"
    assert {finding.rule for finding in report.findings} == {"FH002"}


def test_running_out_of_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A MemoryError anywhere becomes an incomplete report."""

    def exhausted(*_: object) -> object:
        raise MemoryError

    monkeypatch.setattr(importlib.import_module("analyzers.analyze"), "read", exhausted)
    report = analyze("x = 1")
    assert report.verdict == "incomplete"
    assert report.findings[0].rule == "FH004"


def test_many_findings_are_counted_but_not_all_listed() -> None:
    """The total is true beyond the cap, the gravest findings are the ones kept, and they stand in the text's order."""
    report = analyze("assert x\n" * MAX_FINDINGS + "eval(x)\n" * 10, engines=("bandit",))
    assert report.total == MAX_FINDINGS + 10
    assert dict(report.counts)["high"] == 10
    assert len(report.findings) == MAX_FINDINGS
    assert [finding.rule for finding in report.findings][-10:] == ["FH101"] * 10


def test_bandit_can_be_switched_on() -> None:
    """Bandit's plugins run where they are asked for, and what only they see is added."""
    code = "import cgitb\nserver.extra(where=f'{x}')\n"
    assert analyze(code, engines=("bandit",)).total == analyze(code).total + len(bandit_alone(code))


def bandit_alone(code: str) -> list[str]:
    """Give the ids of Bandit's own that are in the report."""
    return [found.rule for found in analyze(code, engines=("bandit",)).findings if found.rule.startswith("B")]


def test_an_unknown_engine_names_the_known_ones() -> None:
    """An engine that does not exist is refused, before anything is read."""
    with pytest.raises(UnknownEngineError, match="bandit"):
        analyze("x", engines=("lint",))


def test_fixes_are_offered_on_request() -> None:
    """Fixes are made only where they are asked for."""
    code = "try:\n    a\nexcept:\n    b\n"
    assert analyze(code).findings[0].fix is None
    assert analyze(code, fixes=True).findings[0].fix is not None


def test_json_is_json() -> None:
    """Several reports are an array that names each file; half surrogates do not make it unsendable."""
    text = to_json([analyze("'\ud800'; eval(x", filename="a.py")])
    assert json.loads(text.encode())[0]["file"] == "a.py"
