"""What a rule is, for every language: an id, a page of documentation, samples, and a function that yields hits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from analyzers.model import Confidence, Severity, Span

Subject = TypeVar("Subject")
"""What a family of rules reads: a tree, or tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A rule saw something here. What is None is as the rule says in general."""

    span: Span
    message: str
    also: tuple[str, ...] | None = None
    confidence: Confidence | None = None
    secret: Span | None = None
    """What has to be masked wherever this source is quoted."""
    quoted_value: str | None = None
    """Likewise, where only the value is known: every literal of this value is masked."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a finding says about the rule that made it."""

    id: str
    name: str
    severity: Severity
    confidence: Confidence
    cwe: int | None = None


@dataclass(frozen=True, slots=True)
class Page(Label):
    """A label with the text a reader of the rule gets."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A hit, and who made it."""

    label: Label
    hit: Hit
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Generic[Subject]):
    """One rule. ``hits`` and ``misses`` are sources that it must and must not report; a test runs them all."""

    id: str
    name: str
    severity: Severity
    confidence: Confidence
    cwe: int | None
    check: Callable[[Subject], Iterable[Hit]]
    also: tuple[str, ...] = ()
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    @property
    def page(self) -> Page:
        """What a reader of the rule gets: its label and the docstring of its function."""
        text = inspect.cleandoc(self.check.__doc__ or "")
        return Page(self.id, self.name, self.severity, self.confidence, self.cwe, text)

    @property
    def label(self) -> Label:
        """The rule without its function and samples."""
        return Label(self.id, self.name, self.severity, self.confidence, self.cwe)

    def seen(self, hit: Hit) -> Seen:
        """Say that this rule made the hit."""
        return Seen(self.label, hit, self.also if hit.also is None else hit.also)
