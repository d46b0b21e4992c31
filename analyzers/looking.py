"""What one language's analyser hands over: everything seen, how well the text was read, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from analyzers.deadline import Deadline
from analyzers.model import Confidence, Finding, Fix, Parse, ParseError, Severity, Span
from analyzers.rule import Hit, Label, Seen

Comments = Callable[[str], Iterable[tuple[int, str]]]
StatementLines = Mapping[int, tuple[int, int]]
_CHECK_EVERY = 256


def _no_statements() -> StatementLines:
    return {}


def _no_fix(_: Finding) -> Fix | None:
    return None


@dataclass(slots=True, kw_only=True)
class Look:
    """Filled while a source is looked at; read once, by :mod:`analyzers.analyze`."""

    comments: Comments
    statement_lines: Callable[[], StatementLines] = _no_statements
    fix: Callable[[Finding], Fix | None] = _no_fix
    parse: Parse = Parse.FULL
    parse_error: ParseError | None = None
    unparsed: tuple[tuple[int, int], ...] = ()
    seen: list[Seen] = field(default_factory=list)
    others: list[Seen] = field(default_factory=list)
    """Seen by another tool's rules; merged into ``seen``."""
    masked: list[Span] = field(default_factory=list)
    """Secrets beyond those that the hits name."""
    notes: list[Seen] = field(default_factory=list)
    """What could not be looked at. A note cannot be suppressed, and makes the report incomplete."""

    def run(self, rule: str, check: Callable[[], Iterable[Seen]], deadline: Deadline) -> None:
        """Run one rule to its end or the deadline. If it raises, what it saw before is kept and a note says so."""
        try:
            for count, seen in enumerate(check()):
                self.seen.append(seen)
                if not count % _CHECK_EVERY and deadline.passed():
                    self.notes.append(cut_short(rule, seen.hit.span.line))
                    return
        except Exception as error:  # noqa: BLE001 - a rule meets hostile text; whatever it raises is told, not thrown
            self.notes.append(crashed(rule, 1, type(error).__name__))


def crashed(rule: str, line: int, reason: str) -> Seen:
    """Note that a rule raised."""
    return _note("FH001", "rule-crashed", f"{rule} could not look at all of this text: {reason}", line)


def cut_short(rule: str, line: int) -> Seen:
    """Note that time ran out."""
    return _note("FH002", "cut-short", f"time ran out in {rule}; later lines were not seen", line)


def missing(engine: str, reason: str) -> Seen:
    """Note that an engine is not installed."""
    return _note("FH003", "engine-missing", f"{engine} could not be loaded: {reason[:200]}", 1)


def unanswered(reason: str) -> Seen:
    """Note that the analyser itself gave no answer."""
    return _note("FH004", "no-answer", reason, 1)


def _note(id_: str, name: str, message: str, line: int) -> Seen:
    return Seen(Label(id_, name, Severity.INFO, Confidence.HIGH), Hit(span=Span(line, 1, line, 1), message=message))
