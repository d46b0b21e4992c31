"""The rules for any text, whatever the language, that are not about secrets: what a reader does not see."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.patterns import lazy
from analyzers.rule import Hit, Rule
from analyzers.source import Source

_DIRECTION = lazy("[\u202a-\u202e\u2066-\u2069\u200e\u200f]")


def text_direction(source: Source) -> Iterator[Hit]:
    r"""A character that turns the direction of writing: a reader sees other code than the machine runs.

    Known as Trojan Source (CVE-2021-42574). Take it out, or write it as an escape such as ``\u202e``.
    """
    if source.text.isascii():
        return
    told = 0
    for match in _DIRECTION.finditer(source.text):
        span = source.between(match.start(), match.end())
        if span.line != told:
            told = span.line
            yield Hit(span=span, message=f"U+{ord(match[0]):04X} shows a reader other code than what runs")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH901",
        name="text-direction",
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        cwe=838,
        check=text_direction,
        also=("B613", "G116"),
        hits=("access = 'user\u202e \u2066# only admins\u2069 \u2066'\n",),
        misses=("x = '\\u202e'\n", "name = 'Jos\u00e9'\n"),
    ),
)
