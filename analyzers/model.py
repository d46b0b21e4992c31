"""The nouns of the analysers: a Finding and what it is made of, and the Report that holds them. Frozen; no behaviour.

Named tuples rather than dataclasses: making a dataclass costs a process's start ten times as much (measured, 3.11).
Lines and columns count from 1, columns count characters (code points), and ends are exclusive.
"""

from __future__ import annotations

from enum import StrEnum

from analyzers.named import NamedTuple


class UnknownEngineError(ValueError):
    """There is no such engine; the text names those there are."""

    def __init__(self, engine: str, known: tuple[str, ...]) -> None:
        super().__init__(f"no engine {engine[:40]!r}; known: {', '.join(known)}")
        self.engine = engine
        self.known = known


class UnknownLanguageError(ValueError):
    """No analyser reads this language; the text names those that do."""

    def __init__(self, language: str, known: tuple[str, ...]) -> None:
        super().__init__(f"no analyser reads {language[:40]!r}; known: {', '.join(known)}")
        self.language = language
        self.known = known


class Severity(StrEnum):
    """How much harm the code can do if the finding is right."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        """3 for high down to 0 for info: severities compare by this, never by their letters."""
        return _RANKS[self]


_RANKS = {Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1, Severity.INFO: 0}


class Confidence(StrEnum):
    """How sure the rule is that it saw what it says."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Verdict(StrEnum):
    """One word for a gate: ``incomplete`` means nothing failed, but not everything could be looked at."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"
    INCOMPLETE = "incomplete"


class Parse(StrEnum):
    """How much of the text was understood as a program; ``text`` means that only tokens were looked at."""

    FULL = "full"
    REPAIRED = "repaired"
    PARTIAL = "partial"
    TEXT = "text"


class Span(NamedTuple):
    """A stretch of the source."""

    line: int
    column: int
    end_line: int
    end_column: int


class Edit(NamedTuple):
    """Replace what ``span`` covers by ``text``; an empty span inserts."""

    span: Span
    text: str


class Fix(NamedTuple):
    """Edits that belong together. ``safe`` means: a program that was right before behaves the same after."""

    edits: tuple[Edit, ...]
    safe: bool


class Quote(NamedTuple):
    """A line of the source with its secrets masked, and where in it a finding begins and ends, from 0."""

    text: str
    start: int
    end: int


class Finding(NamedTuple):
    """One thing a rule saw. ``also`` holds the names other tools give to the same thing.

    ``fingerprint`` stays the same when other lines come, go or move. ``quote`` is there where it was
    asked for; it is not sent.
    """

    rule: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    span: Span
    cwe: int | None = None
    snippet: str = ""
    fix: Fix | None = None
    also: tuple[str, ...] = ()
    fingerprint: str = ""
    quote: Quote | None = None


class ParseError(NamedTuple):
    """Why the text is not a program, and where that shows."""

    line: int
    column: int
    message: str


class Report(NamedTuple):
    """All that is known about one source. ``total`` and ``counts`` count every finding, ``findings`` may be cut."""

    language: str
    verdict: Verdict
    parse: Parse = Parse.FULL
    parse_error: ParseError | None = None
    unparsed: tuple[tuple[int, int], ...] = ()
    """First and last line of each stretch that no parser understood."""
    total: int = 0
    counts: tuple[tuple[Severity, int], ...] = ()
    suppressed: int = 0
    capabilities: tuple[str, ...] = ()
    capability_lines: tuple[int, ...] = ()
    """The first line that shows each capability."""
    findings: tuple[Finding, ...] = ()
    filename: str | None = None
    fixed: Fixed | None = None
    """The text with its fixes made, where that was asked for."""


class Applied(NamedTuple):
    """A fix that was made: for which finding, where it stood in the text of its round, and in which round, from 1.

    The text of the first round is the one that was sent.
    """

    rule: str
    name: str
    line: int
    message: str
    safe: bool
    round: int


class Fixed(NamedTuple):
    """A text after its fixes, what was done to it, and what is still found in it."""

    code: str
    applied: tuple[Applied, ...]
    report: Report
