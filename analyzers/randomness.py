"""The last resort: quoted text that looks drawn at random, under no name and in no shape that says what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.credentials import is_about
from analyzers.patterns import lazy
from analyzers.placeholders import bits, is_hex, is_placeholder, is_published, is_random

_QUOTED = lazy(r"([\"'`])([A-Za-z0-9+/_-]{24,200}={0,2})\1")
_NAME = r"([A-Za-z_][\w.-]{0,80})[\"'`\])]{0,2}[ \t]{0,8}(?::[ \t]?\w{1,20}[ \t])?(?::=|=>|=|:)[ \t]{0,8}[rbuRBU]{0,2}$"
_REACH = 120
_LEAST_HEX = 32
_LEAST_HEX_BITS = 3.0
_LEAST_BITS = 4.5
_MOST = 20
_HASH_LENGTHS = frozenset({40, 56, 64, 96, 128})


def find_random(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each such value. Where there are many, they are data rather than keys, and none is told."""
    found = []
    for match in _QUOTED.finditer(text):
        if _is_drawn(match[2]) and not _is_explained(text, match) and not _is_markup(text, match.start()):
            found.append(match.span(2))
            if len(found) > _MOST:
                return
    yield from found


def _is_drawn(value: str) -> bool:
    if is_published(value):
        return False
    if is_hex(value):
        return len(value) >= _LEAST_HEX and len(value) not in _HASH_LENGTHS and bits(value) >= _LEAST_HEX_BITS
    mixed = value.lower() != value and value.upper() != value
    return mixed and bits(value) >= _LEAST_BITS and is_random(value) and not is_placeholder(value)


def _is_markup(text: str, start: int) -> bool:
    """Whether the value belongs to an HTML or XML tag: those hold identifiers and one-time tokens, hardly ever keys."""
    opened = text.rfind("<", max(0, start - _REACH), start)
    return opened >= 0 and text[opened + 1 : opened + 2].isalpha() and not set(">\n") & set(text[opened:start])


def _is_explained(text: str, match: re.Match[str]) -> bool:
    """Whether a name before the value says that it is a hash, a key that may be known, or something of the kind."""
    name = re.search(_NAME, text[max(0, match.start() - _REACH) : match.start()])
    return name is not None and is_about(name[1])
