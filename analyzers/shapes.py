"""What a known credential looks like, and how all of them are looked for at once.

Nearly every issuer prints a fixed prefix into a token so that it can be recognised. A text is cut into its words once;
only a word that begins like a prefix costs more. A pattern repeats one character class a bounded number of times, so
matching is linear in the text whatever it is.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator

from analyzers.named import NamedTuple

# An escape such as \n before the token ends in a letter that does not belong to it.
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_HEAD = 3
"""So many of a word's first characters decide whether a prefix is looked for; some prefixes are shorter."""
_SHORT_HEAD = 2
_LEAST_WORD = 6
"""No prefix, with what follows it up to a separator, is shorter."""
_SEPARATORS = "+/=:~%|$@\\\"'`()[]{}<>,;!?&#*^ \t\n\r\v\f"


_TABLE = bytes(32 if chr(code) in _SEPARATORS else code for code in range(256))


class Shape(NamedTuple):
    """One issuer's token. ``prefixes`` are looked for as plain text before ``pattern`` is tried at those places."""

    kind: str
    prefixes: tuple[str, ...]
    regex: str
    back: int = 0
    """How many characters before the prefix the token begins, at most."""
    context: str = ""
    """A word, in lower case, that has to stand somewhere in the text, for shapes whose prefix says little."""
    accepts: Callable[[str], bool] | None = None
    """A last look at the whole token."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern. Most texts need none of them, so each is compiled when it is first asked for."""
        return _compiled(self.regex)


def shape(
    kind: str,
    prefixes: str,
    rest: str,
    *,
    back: int = 0,
    before: str = "",
    context: str = "",
    accepts: Callable[[str], bool] | None = None,
) -> Shape:
    """Build a shape: one of the prefixes, then ``rest``, with no character of a longer word touching either end.

    The edge is also what keeps bait linear: inside one run of token characters only one place is ever tried.
    """
    words = tuple(prefixes.split())
    either = "|".join(re.escape(word) for word in words)
    return Shape(kind, words, rf"{_EDGE}{before}(?:{either}){rest}(?![A-Za-z0-9_])", back, context, accepts)


@functools.cache
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.ASCII)


class Index:
    """Every shape by what a word of the text may begin with."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        self._heads: dict[bytes, list[tuple[bytes, str, Shape]]] = {}
        self._anywhere: list[tuple[str, Shape]] = []
        for one in shapes:
            for prefix in one.prefixes:
                head = prefix.encode().translate(_TABLE).split(b" ")[0]
                if one.back or one.context or len(head) < _SHORT_HEAD:
                    self._anywhere.append((prefix, one))
                else:
                    self._heads.setdefault(head[:_HEAD], []).append((head, prefix, one))
        self._short = frozenset(head for head in self._heads if len(head) == _SHORT_HEAD)

    def prefixes_in(self, text: str) -> Iterator[tuple[str, Shape]]:
        """Every prefix that stands in the text as the beginning of a word, once, with its shape."""
        raw = text.encode("ascii", "replace")
        if b"\\" in raw:
            # A newline written as an escape, in JSON for one, ends in a letter that would hide where a word begins.
            raw = raw.replace(b"\\n", b"  ").replace(b"\\r", b"  ").replace(b"\\t", b"  ")
        heads, short = self._heads, self._short
        long = [word for word in set(raw.translate(_TABLE).split()) if len(word) >= _LEAST_WORD]
        words = {word for word in long if word[:_HEAD] in heads or word[:_SHORT_HEAD] in short}
        told: set[tuple[str, str]] = set()
        for word in words:
            for head, prefix, one in (*heads.get(word[:_HEAD], ()), *heads.get(word[:_SHORT_HEAD], ())):
                if word.startswith(head) and (prefix, one.regex) not in told and prefix in text:
                    told.add((prefix, one.regex))
                    yield prefix, one
        for prefix, one in self._anywhere:
            if prefix in text and (not one.context or one.context in text.lower()):
                yield prefix, one
