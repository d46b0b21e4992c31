"""From source to report. A newcomer starts here.

read -> the language's look (parse once, every rule) -> the rules for any text -> merge -> suppress -> mask -> Report
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from analyzers.deadline import Deadline
from analyzers.looking import Look, unanswered
from analyzers.merge import merge
from analyzers.model import Finding, Parse, Report, Severity, UnknownLanguageError, Verdict
from analyzers.python import look as python
from analyzers.rule import Page, Rule, Seen
from analyzers.secret_rules import RULES as SECRET_RULES
from analyzers.secrets import Masker, clean
from analyzers.source import Source, UndecodableError, read
from analyzers.suppress import Suppressions

MAX_FINDINGS = 1000
"""A report lists no more than this, the gravest first to be kept; it counts all."""
_MAX_SNIPPET = 200
_MAX_MESSAGE = 400


class _Looker(Protocol):
    def __call__(
        self, source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, bandit: bool
    ) -> Look: ...


_LOOKERS: dict[str, _Looker] = {"python": python.look}
_ALIASES = {"python3": "python", "py": "python"}
_PAGES = {page.id: page for page in (*(rule.page for rule in python.RULES), *(rule.page for rule in SECRET_RULES))}
_RULE_NAMES = frozenset(page.name for page in _PAGES.values())


def languages() -> tuple[str, ...]:
    """Every language there is an analyser for."""
    return tuple(_LOOKERS)


def pages() -> Mapping[str, Page]:
    """Every rule of ours, by its id, with what a reader gets to know about it. Bandit's rules have Bandit's pages."""
    return _PAGES


def language_named(language: str) -> str:
    """Return the language's own name for a name or alias of it. Raises UnknownLanguageError."""
    name = language.lower()
    name = _ALIASES.get(name, name)
    if name not in _LOOKERS:
        raise UnknownLanguageError(language, languages())
    return name


def analyze(
    code: str | bytes,
    language: str = "python",
    *,
    threshold: Severity = Severity.LOW,
    filename: str | None = None,
    fixes: bool = True,
    bandit: bool = True,
    seconds: float | None = None,
) -> Report:
    """Look at code without running it.

    Args:
        code: The text; bytes are decoded as the language's own reader would.
        language: What it is written in, or an alias of it.
        threshold: The least severity that makes the verdict ``fail``.
        filename: What to call the source in renderings; nothing is opened.
        fixes: Offer edits where a rule knows one. LibCST is imported when the first is needed.
        bandit: Run Bandit's plugins as well. Bandit is imported at the first analysis.
        seconds: When to stop looking; what was not seen by then makes the report ``incomplete``.

    Raises:
        UnknownLanguageError: No analyser reads this language. Nothing about the code itself raises.
    """
    name = language_named(language)
    threshold = Severity(threshold)
    try:
        return _analyze(code, name, threshold, filename, Deadline(seconds), fixes=fixes, bandit=bandit)
    except MemoryError:
        return unanswered_report(name, "there was not enough memory to analyse this text", filename)


def unanswered_report(language: str, reason: str, filename: str | None = None) -> Report:
    """Report that nothing is known about a source, and why."""
    return Report(
        language=language,
        verdict=Verdict.INCOMPLETE,
        parse=Parse.TEXT,
        total=1,
        counts=_counts([unanswered(reason)]),
        findings=(_finding(unanswered(reason), Source(""), Masker("", [])),),
        filename=filename,
    )


def _analyze(
    code: str | bytes,
    language: str,
    threshold: Severity,
    filename: str | None,
    deadline: Deadline,
    *,
    fixes: bool,
    bandit: bool,
) -> Report:
    source, undecodable = read(code)
    found = _LOOKERS[language](source, undecodable, deadline, bandit=bandit)
    for rule in SECRET_RULES:
        _run(found, rule, source, deadline)
    merged = merge(found.seen, found.others)
    masker = _masker(source, found, merged)
    kept = _unsuppressed(source, found, merged)
    everything = [*found.notes, *kept]
    # Notes are few, and what is left out of a report must at least be told.
    listed = _in_order([*found.notes, *_gravest(kept, MAX_FINDINGS - len(found.notes))])
    findings = [_finding(seen, source, masker) for seen in listed]
    if fixes:
        findings = [replace(finding, fix=found.fix(finding)) for finding in findings]
    return Report(
        language=language,
        verdict=_verdict(found, kept, threshold),
        parse=found.parse,
        parse_error=found.parse_error and replace(found.parse_error, message=clean(found.parse_error.message)),
        unparsed=found.unparsed,
        total=len(everything),
        counts=_counts(everything),
        suppressed=len(merged) - len(kept),
        findings=tuple(findings),
        filename=filename,
    )


def _run(found: Look, rule: Rule[Source], source: Source, deadline: Deadline) -> None:
    found.run(rule.id, lambda: map(rule.seen, rule.check(source)), deadline)


def _unsuppressed(source: Source, found: Look, merged: list[Seen]) -> list[Seen]:
    suppressions = Suppressions(source.text, found.comments, lambda at: source.place(at)[0], _RULE_NAMES)
    if not suppressions:
        return merged
    statement_lines = found.statement_lines()
    return [seen for seen in merged if not suppressions.covers(seen, statement_lines)]


def _masker(source: Source, found: Look, merged: list[Seen]) -> Masker:
    named = [seen.hit.secret for seen in merged if seen.hit.secret is not None]
    shaped = [(secret.start, secret.end) for secret in source.secrets]
    return Masker(source.text, [*shaped, *map(source.offsets, named)], [*map(source.offsets, found.masked)])


def _gravest(kept: list[Seen], most: int) -> list[Seen]:
    if len(kept) <= most:
        return kept
    return sorted(kept, key=lambda seen: (-seen.label.severity.rank, seen.hit.span))[: max(0, most)]


def _in_order(listed: list[Seen]) -> list[Seen]:
    return sorted(listed, key=lambda seen: (seen.hit.span, -seen.label.severity.rank, seen.label.id))


def _finding(seen: Seen, source: Source, masker: Masker) -> Finding:
    label, hit = seen.label, seen.hit
    start, end = source.offsets(hit.span)
    line_end = source.offset(hit.span.line, 1) + len(source.lines[hit.span.line - 1])
    snippet = masker.quote(start, min(end, line_end))
    if len(snippet) > _MAX_SNIPPET:
        snippet = snippet[:_MAX_SNIPPET] + "…"
    return Finding(
        rule=label.id,
        name=label.name,
        severity=label.severity,
        confidence=hit.confidence or label.confidence,
        message=masker.clean(hit.message, start, end)[:_MAX_MESSAGE],
        span=hit.span,
        cwe=label.cwe,
        snippet=snippet,
        also=seen.also,
    )


def _counts(everything: list[Seen]) -> tuple[tuple[Severity, int], ...]:
    counts = Counter(seen.label.severity for seen in everything)
    return tuple((severity, counts[severity]) for severity in Severity)


def _verdict(found: Look, kept: list[Seen], threshold: Severity) -> Verdict:
    if any(seen.label.severity.rank >= threshold.rank for seen in kept):
        return Verdict.FAIL
    return Verdict.INCOMPLETE if found.notes or found.parse is not Parse.FULL else Verdict.PASS
