"""From source to report. A newcomer starts here.

read -> the language's look (parse once, every rule) -> the rules for any text -> merge -> suppress -> mask -> Report
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from analyzers.choice import EVERYTHING, Choice
from analyzers.deadline import Deadline
from analyzers.languages import AUTO, LANGUAGES, engines_named, language_named, languages, reader_of
from analyzers.looking import Look, unanswered
from analyzers.masking import Masker, clean
from analyzers.merge import merge
from analyzers.model import Finding, Parse, ParseError, Report, Severity, Verdict
from analyzers.named import NamedTuple
from analyzers.quoting import Quoter
from analyzers.rule import Page, Rule, Seen
from analyzers.secret_rules import RULES as SECRET_RULES
from analyzers.source import Source, UndecodableError, read
from analyzers.suppress import UNEXPLAINED, Suppressions
from analyzers.text_rules import RULES as TEXT_RULES

ANY_TEXT = (*SECRET_RULES, *TEXT_RULES)
"""The rules for texts of any language."""
_OF_MANY = frozenset({"markdown", "notebook"})
_IMPORT_RULES = ("lookalike-import", "unknown-import", "misnamed-import")
MAX_FINDINGS = 1000
"""A report lists no more than this, the gravest first to be kept; it counts all."""
_MAX_MESSAGE = 400


class _Asked(NamedTuple):
    """What a caller wants to be told, and how."""

    threshold: Severity
    filename: str | None
    fixes: bool
    engines: Collection[str]
    honour: bool
    quotes: bool
    choice: Choice
    packages: Collection[str]
    modules: Collection[str]


@cache
def pages() -> Mapping[str, Page]:
    """Every rule of ours, by its id, with what a reader gets to know about it. Other engines have their own pages."""
    from analyzers import capabilities, imports, notes  # noqa: PLC0415 - few ask

    rules = (*(rule for language in LANGUAGES for rule in reader_of(language.name).RULES), *ANY_TEXT)
    others = (*imports.PAGES, capabilities.PAGE, *notes.PAGES)
    return {page.id: page for page in (*(rule.page for rule in rules), *others)}


@cache
def _rule_names(language: str) -> frozenset[str]:
    read = [one.name for one in LANGUAGES] if language in _OF_MANY else [language]
    rules = (*(rule for one in read for rule in reader_of(one).RULES), *ANY_TEXT)
    return frozenset((*(rule.name for rule in rules), *_IMPORT_RULES))


def analyze(
    code: str | bytes,
    language: str = "python",
    *,
    threshold: Severity = Severity.LOW,
    filename: str | None = None,
    fixes: bool = False,
    engines: Collection[str] = (),
    seconds: float | None = None,
    honour_suppressions: bool = True,
    quotes: bool = False,
    choice: Choice = EVERYTHING,
    packages: Collection[str] = (),
    modules: Collection[str] = (),
    apply_fixes: bool = False,
    unsafe_fixes: bool = False,
) -> Report:
    """Look at code without running it.

    Args:
        code: The text; bytes are decoded as the language's own reader would.
        language: What it is written in, or an alias of it.
        threshold: The least severity that makes the verdict ``fail``.
        filename: What to call the source in renderings; nothing is opened.
        fixes: Offer edits where a rule knows one. LibCST is imported when the first is needed.
        engines: Other tools to run as well: ``bandit`` for Python. Each is imported when first used, and one that has
            nothing to say about the language is left alone.
        seconds: When to stop looking; what was not seen by then makes the report ``incomplete``.
        honour_suppressions: Whether comments in the code may take findings back. Who does not trust its author says no.
        choice: Which findings are wanted, and how grave they are. What is not wanted is neither told nor counted.
        packages: What is installed where the code will run; empty where nobody knows.
        modules: The names of modules that lie beside the code.
        apply_fixes: Make the safe fixes, and give the text they lead to as ``fixed``; bytes have to be UTF-8 for that.
        unsafe_fixes: Make those too that may change what right code does.
        quotes: Give the line of each finding too, its secrets masked, for people to look at.

    Raises:
        UnknownLanguageError: No analyser reads this language. Nothing about the code itself raises.
        UnknownEngineError: There is no such engine.
    """
    name = language_named(language)
    engines = engines_named(engines)
    threshold = Severity(threshold)
    try:
        offer = fixes or apply_fixes
        asked = _Asked(threshold, filename, offer, engines, honour_suppressions, quotes, choice, packages, modules)
        deadline = Deadline(seconds)
        report = _analyze(code, name, deadline, asked)
        return _fixed(code, report, deadline, asked, unsafe=unsafe_fixes) if apply_fixes else report
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
        findings=(_note(unanswered(reason)),),
        filename=filename,
    )


def _fixed(code: str | bytes, report: Report, deadline: Deadline, asked: _Asked, *, unsafe: bool) -> Report:
    from analyzers.fixing import fixed  # noqa: PLC0415 - few ask

    try:
        text = code if isinstance(code, str) else code.decode()
    except UnicodeDecodeError:
        return report
    done = fixed(text, report, lambda changed: _analyze(changed, report.language, deadline, asked), unsafe=unsafe)
    return report._replace(fixed=done)


def _analyze(code: str | bytes, language: str, deadline: Deadline, asked: _Asked) -> Report:
    source, undecodable = read(code)
    language, found = _look(source, undecodable, language, deadline, asked)
    for rule in ANY_TEXT:
        _run(found, rule, source, deadline)
    merged = merge(found.seen, found.others)
    masker = _masker(source, found, merged)
    merged = asked.choice.of(merged)
    kept = _unsuppressed(source, found, merged, language) if asked.honour else merged
    everything = [*found.notes, *kept]
    # Notes are few, and what is left out of a report must at least be told.
    listed = _in_order([*found.notes, *_gravest(kept, MAX_FINDINGS - len(found.notes))])
    quoter = Quoter(source, masker)
    findings = [_finding(seen, source, masker, quoter, quotes=asked.quotes) for seen in listed]
    if asked.fixes:
        findings = _with_fixes(code, source, language, found, findings, deadline, asked)
    found.release()
    return Report(
        language=language,
        verdict=_verdict(found, kept, asked.threshold),
        parse=found.parse,
        parse_error=found.parse_error and found.parse_error._replace(message=clean(found.parse_error.message)),
        unparsed=found.unparsed,
        total=len(everything),
        counts=_counts(everything),
        suppressed=len(merged) - sum(seen.label.id != UNEXPLAINED for seen in kept),
        capabilities=tuple(wanted.capability for wanted in found.wanted),
        capability_lines=tuple(wanted.line for wanted in found.wanted),
        findings=tuple(findings),
        filename=asked.filename,
    )


def _look(
    source: Source, undecodable: UndecodableError | None, language: str, deadline: Deadline, asked: _Asked
) -> tuple[str, Look]:
    unread = ""
    if language == AUTO:
        from analyzers.detect import detect  # noqa: PLC0415 - only where nobody knows

        language = detect(source.text)
        if language not in languages():
            language, unread = "text", language
    found = reader_of(language).look(source, undecodable, deadline, engines=asked.engines)
    if unread:
        found.parse, found.parse_error = Parse.TEXT, ParseError(1, 1, f"{unread}, which no analyser reads")
        found.unparsed = ((1, len(source.lines)),)
    if found.blocks:
        from analyzers import blocks  # noqa: PLC0415 - few texts hold others

        blocks.add(found, source, found.blocks, deadline, engines=(), judge=False)
    if found.imports:
        from analyzers import imports  # noqa: PLC0415 - only where something beyond Python's own is imported

        found.run("the imports", lambda: imports.check(found.imports, asked.packages, asked.modules), deadline)
    return language, found


def _with_fixes(
    code: str | bytes,
    source: Source,
    language: str,
    found: Look,
    findings: list[Finding],
    deadline: Deadline,
    asked: _Asked,
) -> list[Finding]:
    """Offer the fixes that looking again shows to help."""
    findings = [finding._replace(fix=found.fix(finding)) for finding in findings]
    if all(finding.fix is None for finding in findings):
        return findings
    from analyzers.verify import verified  # noqa: PLC0415 - only where something can be fixed

    again = asked._replace(fixes=False, quotes=False)
    text = code if isinstance(code, str) else source.text
    return verified(
        text,
        findings,
        lambda changed: _analyze(changed, language, deadline, again),
        is_program=language == "python",
    )


def _run(found: Look, rule: Rule, source: Source, deadline: Deadline) -> None:
    found.run(rule.id, lambda: map(rule.seen, rule.check(source) or ()), deadline)


def _unsuppressed(source: Source, found: Look, merged: list[Seen], language: str) -> list[Seen]:
    names = _rule_names(language)
    suppressions = Suppressions(source.text, found.comments, lambda at: source.place(at)[0], names)
    if not suppressions:
        return merged
    statement_lines = found.statement_lines()
    left = [suppressions.remaining(seen, statement_lines) for seen in merged]
    return [*suppressions.unexplained, *(seen for seen in left if seen is not None)]


def _masker(source: Source, found: Look, merged: list[Seen]) -> Masker:
    named = [seen.hit.secret for seen in merged if seen.hit.secret is not None]
    shaped = [(secret.start, secret.end) for secret in source.secrets]
    return Masker(source.text, [*shaped, *map(source.offsets, named)], [*map(source.offsets, found.masked)])


def _gravest(kept: list[Seen], most: int) -> list[Seen]:
    if len(kept) <= most:
        return kept
    return sorted(kept, key=lambda seen: (-seen.severity.rank, seen.hit.span))[: max(0, most)]


def _in_order(listed: list[Seen]) -> list[Seen]:
    return sorted(listed, key=lambda seen: (seen.hit.span, -seen.severity.rank, seen.label.id))


def _note(seen: Seen) -> Finding:
    source = Source("")
    masker = Masker("", [])
    return _finding(seen, source, masker, Quoter(source, masker), quotes=False)


def _finding(seen: Seen, source: Source, masker: Masker, quoter: Quoter, *, quotes: bool) -> Finding:
    label, hit = seen.label, seen.hit
    span = hit.span
    snippet, quote = quoter.quoted(span)
    return Finding(
        rule=label.id,
        name=label.name,
        severity=seen.severity,
        confidence=hit.confidence or label.confidence,
        message=masker.clean(hit.message, *source.offsets(span))[:_MAX_MESSAGE],
        span=span,
        cwe=label.cwe if hit.cwe is None else hit.cwe,
        snippet=snippet,
        also=seen.also,
        fingerprint=quoter.fingerprint(label.id, quote),
        quote=quote if quotes else None,
    )


def _counts(everything: list[Seen]) -> tuple[tuple[Severity, int], ...]:
    counts = dict.fromkeys(Severity, 0)
    for seen in everything:
        counts[seen.severity] += 1
    return tuple(counts.items())


def _verdict(found: Look, kept: list[Seen], threshold: Severity) -> Verdict:
    if any(seen.severity.rank >= threshold.rank for seen in kept):
        return Verdict.FAIL
    return Verdict.INCOMPLETE if found.notes or found.unparsed else Verdict.PASS
