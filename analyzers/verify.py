"""Offer a fix only where looking again shows that it helps: the finding is gone and nothing new has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from analyzers.fix import UnfixableError, apply
from analyzers.model import Finding, Fix, Parse, Report, Severity

_MOST_TRIES = 200
"""So many fixes are tried alone at the most, where trying them together was not enough."""
_Look = Callable[[str], Report]


def verified(code: str, findings: list[Finding], look: _Look, *, is_program: bool) -> list[Finding]:
    """Give the findings with those of their fixes that do what they promise.

    Args:
        code: The text that was looked at.
        findings: With the fixes to be tried.
        look: Looks at another text in the same way.
        is_program: Whether the text has to be a Python program afterwards.
    """
    offered = [finding for finding in findings if finding.fix is not None]
    if not offered:
        return findings
    # Nearly always all of them are right, and one more look shows it.
    if _help(code, offered, findings, look, is_program=is_program):
        return findings
    tries = 0
    kept: list[Finding] = []
    for finding in findings:
        if finding.fix is not None:
            tries += 1
            alone = tries <= _MOST_TRIES and _help(code, [finding], findings, look, is_program=is_program)
            finding = finding if alone else finding._replace(fix=None)  # noqa: PLW2901 - the same finding
        kept.append(finding)
    return kept


def _help(code: str, fixed: list[Finding], before: list[Finding], look: _Look, *, is_program: bool) -> bool:
    fixes = [finding.fix for finding in fixed if finding.fix is not None]
    if len(fixes) > 1 and _clash(fixes):
        return False
    try:
        after = look(apply(code, fixes, unsafe=True, is_program=is_program))
    except UnfixableError:
        return False
    if is_program and after.parse is not Parse.FULL:
        return False
    had = Counter(finding.rule for finding in before)
    has = Counter(finding.rule for finding in after.findings)
    gone = Counter(finding.rule for finding in fixed)
    if any(has[rule] > had[rule] - gone[rule] for rule in gone):
        return False
    known = {name for finding in before for name in (finding.rule, *finding.also)}
    return not any(
        has[finding.rule] > had[finding.rule] and known.isdisjoint((finding.rule, *finding.also))
        for finding in after.findings
        if finding.severity.rank >= Severity.LOW.rank
    )


def _clash(fixes: list[Fix]) -> bool:
    """Whether two fixes change one place, so that only one of them would be made."""
    spans = sorted({(edit.span, edit.text) for one in fixes for edit in one.edits})
    return any(
        (first.end_line, first.end_column) > (second.line, second.column) for (first, _), (second, _) in pairwise(spans)
    )
