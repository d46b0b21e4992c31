"""Fix a source as far as it goes: make the fixes that are offered, look again, and make those that came to light."""

from __future__ import annotations

from collections.abc import Callable

from analyzers.fix import UnfixableError, fit_together
from analyzers.model import Applied, Finding, Fixed, Report

_MOST_ROUNDS = 10
"""Fixes that overlap are made in later rounds; each round makes at least one."""


def fixed(code: str, report: Report, look: Callable[[str], Report], *, unsafe: bool = False) -> Fixed:
    """Make the safe fixes (all of them if ``unsafe``), round by round.

    Args:
        code: The text that was looked at.
        report: What was found in it, with fixes.
        look: Looks at another text in the same way, offering fixes too.
        unsafe: Make those too that may change what right code does.
    """
    applied: list[Applied] = []
    for number in range(1, _MOST_ROUNDS + 1):
        offered = [finding for finding in report.findings if finding.fix is not None and (finding.fix.safe or unsafe)]
        if not offered:
            break
        try:
            changed, made = _round(code, offered, is_program=report.language == "python")
        except UnfixableError:  # each was tried when it was offered, but not all with one another
            break
        if changed == code:
            break
        applied += [_applied(finding, number) for finding in made]
        code, report = changed, look(changed)
    return Fixed(code, tuple(applied), report)


def _round(code: str, offered: list[Finding], *, is_program: bool) -> tuple[str, list[Finding]]:
    changed, taken = fit_together(code, [finding.fix for finding in offered if finding.fix], is_program=is_program)
    return changed, [finding for number, finding in enumerate(offered) if number in taken]


def _applied(finding: Finding, number: int) -> Applied:
    safe = finding.fix is not None and finding.fix.safe
    return Applied(finding.rule, finding.name, finding.span.line, finding.message, safe, number)
