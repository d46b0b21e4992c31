from __future__ import annotations

from analyzers import analyze
from analyzers.model import Edit, Finding, Fix, Report, Span
from analyzers.verify import verified


def offering(code: str, text: str, *, column: int = 1, until: int = 8) -> list[Finding]:
    """Give the findings of a one-line text, the first with an edit of that text."""
    found = list(analyze(code).findings)
    return [found[0]._replace(fix=Fix((Edit(Span(1, column, 1, until), text),), safe=True)), *found[1:]]


def look(code: str) -> Report:
    """Look again."""
    return analyze(code)


def test_a_fix_that_helps_is_kept() -> None:
    """The finding is gone and nothing has come."""
    findings = offering("eval(x)\n", "int(x)")
    assert verified("eval(x)\n", findings, look, is_program=True) == findings


def test_a_fix_that_does_not_help_is_not_offered() -> None:
    """Neither one that leaves its finding, nor one that brings another, nor one that breaks the program."""
    for text in ("eval(y)", "__import__('os').system(x)", "int(x"):
        (kept,) = verified("eval(x)\n", offering("eval(x)\n", text), look, is_program=True)
        assert (kept.rule, kept.fix) == ("FH101", None)


def test_one_bad_fix_costs_no_other() -> None:
    """Where not all of them help, each is tried by itself."""
    code = "eval(x); eval(y)\n"
    first, second = analyze(code).findings
    good = Fix((Edit(first.span, "int(x)"),), safe=True)
    bad = Fix((Edit(second.span, "eval(z)"),), safe=True)
    findings = [first._replace(fix=good), second._replace(fix=bad)]
    assert [finding.fix for finding in verified(code, findings, look, is_program=True)] == [good, None]


def test_fixes_of_one_place_are_each_offered() -> None:
    """They clash, so that only one can be made; which, is for the caller to say."""
    code = "eval(x)\n"
    (found,) = analyze(code).findings
    fixes = [Fix((Edit(found.span, text),), safe=True) for text in ("int(x)", "float(x)")]
    findings = [found._replace(fix=fix) for fix in fixes]
    assert [
        finding.fix for finding in verified(code, findings, lambda _: analyze("int(x)\n"), is_program=True)
    ] == fixes
