"""Comments by which an author takes a finding back: ``# nosec`` as Bandit reads it, ``# noqa`` as Ruff reads it.

A bare marker takes back everything on its line, one with codes only those. A marker counts on any line of the
finding, and on the first and last line of the statement around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from analyzers.model import Span
from analyzers.rule import Seen

_NOSEC = re.compile(r"#\s*nosec(?![\w-])\s*:?([^#]*)")
_NOQA = re.compile(r"#\s*noqa(?![\w-])(?:\s*:\s*((?:[A-Z]{1,8}[0-9]{1,5}[,\s]*)+))?", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]{1,4}[0-9]{2,5}", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][\w-]*")
_MAX_LINES = 1000
_EVERYTHING: frozenset[str] = frozenset({"*"})
_ALIASES = {"E722": ("BLE001",)}


class Suppressions:
    """The markers of one source."""

    def __init__(
        self,
        text: str,
        comments: Callable[[str], Iterable[tuple[int, str]]],
        line_of: Callable[[int], int],
        rule_names: frozenset[str],
    ) -> None:
        self._by_line: dict[int, frozenset[str]] = {}
        if "#" in text and ("nosec" in text or "noqa" in text.lower()):
            known: dict[str, frozenset[str]] = {}
            for at, comment in comments(text):
                codes = known.get(comment)
                if codes is None:
                    codes = known[comment] = _codes(comment, rule_names)
                if codes:
                    line = line_of(at)
                    self._by_line[line] = self._by_line.get(line, frozenset()) | codes

    def __bool__(self) -> bool:
        return bool(self._by_line)

    def covers(self, seen: Seen, statement_lines: Mapping[int, tuple[int, int]]) -> bool:
        """Whether a marker takes this finding back."""
        span = seen.hit.span
        names = frozenset(_names(seen))
        for line in _lines(span, statement_lines):
            codes = self._by_line.get(line)
            if codes and (codes is _EVERYTHING or "*" in codes or not codes.isdisjoint(names)):
                return True
        return False


def _lines(span: Span, statement_lines: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    yield from range(span.line, min(span.end_line, span.line + _MAX_LINES) + 1)
    yield from statement_lines.get(span.line, ())


def _names(seen: Seen) -> Iterator[str]:
    yield seen.label.name.upper()
    for code in (seen.label.id, *seen.also):
        yield code
        if code.startswith("B") and code[1:].isdigit():
            yield f"S{code[1:]}"
        yield from _ALIASES.get(code, ())


def _codes(comment: str, rule_names: frozenset[str]) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for match in _NOSEC.finditer(comment):
        words = _WORD.findall(match[1])
        codes = {word.upper() for word in words if _CODE.fullmatch(word) or "_" in word or word in rule_names}
        found |= codes or _EVERYTHING  # prose after the marker is a reason, not a list
    for match in _NOQA.finditer(comment):
        found |= {code.upper() for code in _CODE.findall(match[1] or "")} or _EVERYTHING
    return found
