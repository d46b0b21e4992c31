from __future__ import annotations

import pytest

from analyzers import Choice, Severity, Verdict, analyze

CODE = 'eval(x)\ntry:\n    a()\nexcept:\n    b()\npassword = "hunter2"  # nosec\n'


def rules(choice: Choice) -> list[str]:
    """Give the rules that are told under a choice."""
    return [finding.rule for finding in analyze(CODE, choice=choice).findings]


@pytest.mark.parametrize(
    ("select", "ignore", "told"),
    [
        (("ALL",), (), ["FH101", "FH301"]),
        (("FH1",), (), ["FH101"]),
        (("fh101",), (), ["FH101"]),
        (("eval-used",), (), ["FH101"]),
        (("B307",), (), ["FH101"]),
        (("S307",), (), ["FH101"]),
        (("E722",), (), ["FH301"]),
        (("CWE-396",), (), ["FH301"]),
        (("CWE-39",), (), []),
        (("FH", "E722"), ("FH301",), ["FH101"]),
        (("ALL",), ("FH",), []),
        (("FH101",), ("FH1",), ["FH101"]),
        (("FH1",), ("FH101",), []),
        (("FH101",), ("FH101",), []),
        (("FH10",), ("ALL",), ["FH101"]),
        ((), (), []),
    ],
)
def test_the_longest_selector_decides(select: tuple[str, ...], ignore: tuple[str, ...], told: list[str]) -> None:
    """By id, its beginning, name, other tools' names and weakness; of two alike the one that takes away."""
    assert rules(Choice(select, ignore)) == told


def test_what_is_not_wanted_does_not_count() -> None:
    """It neither fails, nor is it counted, nor does it count as suppressed."""
    report = analyze(CODE, choice=Choice(ignore=("FH101", "FH301")))
    assert (report.verdict, report.total, report.suppressed) == (Verdict.PASS, 0, 1)
    assert analyze(CODE, choice=Choice(ignore=("FH",))).suppressed == 0


def test_severities_can_be_set() -> None:
    """For a rule, a family or a weakness; the longest selector decides, and the verdict follows."""
    choice = Choice(severities=(("FH", Severity.INFO), ("FH301", Severity.HIGH), ("CWE-95", Severity.LOW)))
    graded = {finding.rule: finding.severity for finding in analyze(CODE, choice=choice).findings}
    assert graded == {"FH101": "low", "FH301": "high"}
    assert analyze(CODE, choice=choice, threshold=Severity.HIGH).verdict == "fail"
    quiet = choice._replace(severities=(("ALL", Severity.INFO),))
    assert analyze(CODE, choice=quiet).verdict == "pass"


def test_notes_cannot_be_chosen_away() -> None:
    """What could not be looked at is told whatever is selected."""
    report = analyze("eval(x)\n" * 5, choice=Choice(select=()), seconds=0)
    assert report.verdict == "incomplete"
    assert "FH002" in [finding.rule for finding in report.findings]
