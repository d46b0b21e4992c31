"""Quote a text without the secrets in it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from analyzers.patterns import lazy
from analyzers.secrets import MASK, find

# Shorter values are words of the language as often as not; more values than this are a dump, not a program.
_MIN_REPEATED = 6
_MAX_REPEATED = 200
# Nothing that is known by its shape is shorter, unless one of these stands beside it.
_LEAST_SECRET = 12
_SIGNS = ("://", "-----", "asic ", "curl", "sshpass", "mysql", "kind:", "earer")


class Masker:
    """Quotes one text with every known secret in it blotted out, also where the same value stands a second time."""

    def __init__(self, text: str, secrets: Sequence[tuple[int, int]], doubtful: Sequence[tuple[int, int]] = ()) -> None:
        """``doubtful`` secrets are hidden where they are, but the same word elsewhere may well be just a word."""
        self._text = text
        secrets = [_inner(text, *place) for place in secrets]
        doubtful = [_inner(text, *place) for place in doubtful]
        merged: list[tuple[int, int]] = []
        for start, end in sorted([*secrets, *doubtful, *_repeats(text, secrets)]):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            elif end > start:
                merged.append((start, end))
        self._spans = merged
        self._ends = [end for _, end in merged]

    def hides(self, start: int, end: int) -> bool:
        """Whether anything is blotted out between two places."""
        at = bisect_right(self._ends, start)
        return at < len(self._spans) and self._spans[at][0] < end

    def quote(self, start: int, end: int) -> str:
        """Return the text from ``start`` to ``end``; a secret that reaches into it shows as ``****``."""
        if not self._spans:
            return self._text[start:end]
        parts, at = [], start
        for span_start, span_end in self._spans[bisect_right(self._ends, start) :]:
            if span_start >= end:
                break
            parts += [self._text[at : max(at, span_start)], MASK]
            at = min(span_end, end)
        parts.append(self._text[at:end])
        return "".join(parts)

    def clean(self, message: str, first: int, last: int) -> str:
        """Return a message about the text from ``first`` to ``last`` with the secrets of that stretch blotted out."""
        if not self._spans:
            return clean(message)
        index = bisect_left(self._ends, first)
        for start, end in self._spans[index : index + 50]:
            if start > last:
                break
            if end - start >= _MIN_REPEATED:
                message = message.replace(self._text[start:end], MASK)
        return clean(message)


_OPENING = lazy(r"""[rbufRBUF]{0,2}(\"{3}|'{3}|["'])""")


def _inner(text: str, start: int, end: int) -> tuple[int, int]:
    """Narrow the place of a string literal to what is between its quotes."""
    opening = _OPENING.match(text, start)
    if opening and text.endswith(opening[1], opening.end(), end):
        return opening.end(), end - len(opening[1])
    return start, end


def _repeats(text: str, secrets: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    values = {text[start:end] for start, end in secrets}
    for value in sorted(values)[:_MAX_REPEATED]:
        at = text.find(value) if len(value) >= _MIN_REPEATED else -1
        # ``password`` set to "password": the word inside another name gives nothing away.
        is_word = value.isalpha() and value.islower()
        while at >= 0:
            end = at + len(value)
            if not (is_word and (_in_word(text[at - 1 : at]) or _in_word(text[end : end + 1]))):
                yield at, end
            at = text.find(value, end)


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


@lru_cache(256)
def clean(message: str) -> str:
    """Blot out what is a secret by its own shape."""
    if all(len(word) < _LEAST_SECRET for word in message.split()) and not any(sign in message for sign in _SIGNS):
        return message
    for secret in reversed(find(message)):
        message = message[: secret.start] + MASK + message[secret.end :]
    return message
