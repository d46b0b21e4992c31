from __future__ import annotations

import pytest

from analyzers import Severity, analyze
from analyzers.analyze import ANY_TEXT, pages
from analyzers.languages import reader_of
from analyzers.python.look import FIXABLE
from analyzers.rule import Rule

READ = {
    "python": (*reader_of("python").RULES, *ANY_TEXT),
    "go": reader_of("go").RULES,
    "bash": reader_of("bash").RULES,
}
RULES: tuple[Rule, ...] = tuple(rule for rules in READ.values() for rule in rules)


def _cases(kind: str) -> list[object]:
    return [
        pytest.param(rule.id, language, sample, id=f"{rule.id}-{index}")
        for language, rules in READ.items()
        for rule in rules
        for index, sample in enumerate(getattr(rule, kind))
    ]


@pytest.mark.parametrize(("rule", "language", "sample"), _cases("hits"))
def test_a_rule_reports_each_of_its_hits(rule: str, language: str, sample: str) -> None:
    """Every sample that a rule says it reports is reported by it, and the text around it parses."""
    report = analyze(sample, language)
    assert report.parse == "full"
    assert rule in [finding.rule for finding in report.findings]
    assert not [finding for finding in report.findings if finding.rule.startswith("FH00")]


@pytest.mark.parametrize(("rule", "language", "sample"), _cases("misses"))
def test_a_rule_is_silent_on_each_of_its_misses(rule: str, language: str, sample: str) -> None:
    """Every sample that a rule says it leaves alone is left alone by it, and the text around it parses."""
    report = analyze(sample, language, engines=("bandit",))
    assert report.parse == "full"
    names = {name for finding in report.findings for name in (finding.rule, *finding.also)}
    assert rule not in names


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_complete(rule: Rule) -> None:
    """Every rule has a page with more than a title, a CWE, and samples of both kinds."""
    title, *rest = rule.page.text.splitlines()
    assert title.endswith(".")
    assert rest
    assert rule.cwe
    assert rule.hits
    assert rule.misses


def test_rule_ids_and_names_are_unique() -> None:
    """No two rules share an id or a name, whatever they read: a person selects and takes back by these."""
    told = [*RULES, *(page for page in pages().values() if page.id not in {rule.id for rule in RULES})]
    assert sorted({rule.id for rule in told}) == sorted(rule.id for rule in told)
    assert sorted({rule.name for rule in told}) == sorted(rule.name for rule in told)
    assert {rule.id for rule in RULES} >= FIXABLE
    assert {f"FH00{number}" for number in range(1, 6)} <= pages().keys()


@pytest.mark.parametrize(
    ("code", "severity"),
    [("eval(x)", "high"), ("exec(x)", "high"), ('password = "hunter2"', "high"), ("try:\n a\nexcept:\n b", "low")],
)
def test_the_severities_that_were_asked_for(code: str, severity: str) -> None:
    """eval, exec and secrets are high and a bare except is low, although Bandit grades some of them otherwise."""
    report = analyze(code)
    assert [finding.severity for finding in report.findings] == [severity]
    assert report.verdict == "fail"


def test_the_names_of_other_tools_are_told() -> None:
    """A finding that Bandit or Ruff knows under another name carries that name, and is there once."""
    for code, also in {
        "eval(x)": ("B307",),
        "exec(x)": ("B102",),
        'password = "hunter2"': ("B105",),
        'f(password="hunter2")': ("B106",),
        'def f(password="hunter2"): a': ("B107",),
        "try:\n a\nexcept:\n b": ("E722",),
    }.items():
        (finding,) = analyze(code).findings
        assert finding.also == also


def test_a_secret_with_both_a_name_and_a_shape_is_one_finding() -> None:
    """A known token under a telling name is reported once, by its shape, with Bandit's name for it."""
    (finding,) = analyze('token = "ghp_' + "a1B2" * 9 + '"').findings
    assert (finding.rule, finding.also) == ("FH202", ("B105",))


def test_a_name_that_may_mean_two_things_is_reported_with_less_confidence() -> None:
    """When only one of two assignments makes a name eval, its call is a finding of medium confidence."""
    (finding,) = analyze("run = eval if fast else ast.literal_eval\nif x:\n    run = safe\nrun(y)\n").findings
    assert (finding.rule, finding.confidence) == ("FH101", "medium")


def test_the_threshold_decides_the_verdict_and_nothing_else() -> None:
    """A finding below the threshold is still listed, but does not fail."""
    code = "try:\n    a()\nexcept:\n    b()\n"
    assert analyze(code, threshold=Severity.HIGH).verdict == "pass"
    assert analyze(code, threshold=Severity.HIGH).total == 1
    assert analyze(code).verdict == "fail"
