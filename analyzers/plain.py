"""A text of no language that anything here parses: settings, data, prose. Only its secrets are looked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from analyzers.deadline import Deadline
from analyzers.looking import Look
from analyzers.patterns import lazy
from analyzers.rule import Rule
from analyzers.secret_rules import named_secrets
from analyzers.source import Source, UndecodableError

RULES: tuple[Rule, ...] = ()
"""Its secrets are those of every text; this reader has no rules beside them."""
_COMMENT = lazy(r"(?:#|//)[^\n]*")


def look(source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]) -> Look:
    """See the secrets under telling names; those known by their shape are seen in every language."""
    del undecodable, engines  # any bytes are some text, and no engine reads it
    found = Look(comments=comments)
    found.run("the names beside values", lambda: named_secrets(source), deadline)
    return found


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Whatever may be a comment in one format or another, with its place."""
    for match in _COMMENT.finditer(text):
        yield match.start(), match[0]
