"""What a rule is, for every language: an id, a page of documentation, samples, and a function that yields hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from analyzers.model import Confidence, Severity, Span
from analyzers.named import NamedTuple


class Hit(NamedTuple):
    """A rule saw something here. What is None is as the rule says in general."""

    span: Span
    message: str
    also: tuple[str, ...] | None = None
    confidence: Confidence | None = None
    secret: Span | None = None
    """What has to be masked wherever this source is quoted."""
    quoted_value: str | None = None
    """Likewise, where only the value is known: every literal of this value is masked."""
    severity: Severity | None = None
    cwe: int | None = None


class Label(NamedTuple):
    """What a finding says about the rule that made it."""

    id: str
    name: str
    severity: Severity
    confidence: Confidence
    cwe: int | None = None


class Page(NamedTuple):
    """A label with the text a reader of the rule gets, and the names that other tools give to the same thing."""

    id: str
    name: str
    severity: Severity
    confidence: Confidence
    cwe: int | None = None
    text: str = ""
    also: tuple[str, ...] = ()


class Seen(NamedTuple):
    """A hit, and who made it."""

    label: Label
    hit: Hit
    also: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """How grave this one is: as the hit says, else as its rule does."""
        return self.hit.severity or self.label.severity


class Rule(NamedTuple):
    """One rule. ``hits`` and ``misses`` are sources that it must and must not report; a test runs them all.

    What ``check`` is given, and when, is the language's affair: all of the text, or one node of a tree with what is
    around it. ``on`` says what the rule wants to see, in the language's own terms.
    """

    id: str
    name: str
    severity: Severity
    confidence: Confidence
    cwe: int | None
    check: Callable[..., Iterable[Hit] | None]
    also: tuple[str, ...] = ()
    on: tuple[object, ...] = ()
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    @property
    def page(self) -> Page:
        """What a reader of the rule gets: its label and the docstring of its function."""
        from inspect import cleandoc  # noqa: PLC0415 - costs a start more than all of this package, and few ask

        return Page(*self.label, cleandoc(self.check.__doc__ or ""), self.also)

    @property
    def label(self) -> Label:
        """The rule without its function and samples."""
        return Label(self.id, self.name, self.severity, self.confidence, self.cwe)

    def seen(self, hit: Hit) -> Seen:
        """Say that this rule made the hit."""
        return Seen(Label(*self[:5]), hit, self.also if hit.also is None else hit.also)
