"""Finds secrets in any text, whatever the language, and keeps them out of everything that quotes the text.

Two kinds of evidence: the shape of the value itself (here, by issuers' prefixes, PEM blocks, passwords in URLs and
Basic headers), and a telling name beside a literal value (:mod:`analyzers.credentials` judges; a language with a
parser finds the pairs in its tree, :func:`named` finds them in plain text).
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analyzers.credentials import holds_secret, is_placeholder
from analyzers.shapes import SHAPES, Shape

MASK = "****"

_PEM = "-----BEGIN "
_PEM_HEAD = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{1,40}-----")
_PEM_BODY = re.compile(r"[A-Za-z0-9+/]{20}")
_PEM_REACH = 20_000
_URL_USER = re.compile(r"[^\s:/@\"'`<>]{0,80}:([^\s/@\"'`<>]{1,200})@([A-Za-z0-9.\-_\[{$]{1,200})")
_BASIC = re.compile(r"Basic[ ]{1,3}([A-Za-z0-9+/]{8,400}={0,2})(?![A-Za-z0-9+/=])")
_NAMED = re.compile(
    r"""(?<![\w.\-])([A-Za-z_][\w.\-]{0,80})["'`\]]{0,2}[ \t]{0,8}"""
    r"""(?::[ \t]{0,4}\w{1,20}[ \t]{0,4})?(?::=|=>|=|:)[ \t]{0,8}[rRbBuUfF]{0,2}(["'`])([^"'`\n\\]{1,400})\2"""
)
_HINTS = re.compile(r"pass|pwd|secret|token|key|cred|auth|jwt|bearer|webhook|pat|conn", re.IGNORECASE)
_MIN_DIGITLESS = 23
_MAX_DASHES = 4
# Shorter values are words of the language as often as not; more values than this are a dump, not a program.
_MIN_REPEATED = 6
_MAX_REPEATED = 200


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret value at ``start`` to ``end`` of the text."""

    start: int
    end: int
    kind: str
    rule: str


def find(text: str) -> list[Secret]:
    """Every value that is a secret by its own shape, in order, none overlapping another."""
    found = [*_private_keys(text), *_tokens(text), *_url_passwords(text), *_basic_headers(text)]
    found.sort(key=lambda secret: (secret.start, -secret.end))
    kept: list[Secret] = []
    for secret in found:
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept


def named(text: str) -> Iterator[tuple[str, int, int]]:
    """Every ``name = "value"`` or ``"name": "value"`` in text without a tree that holds a secret: name, start, end."""
    if _HINTS.search(text):
        for match in _NAMED.finditer(text):
            name = match[1].rsplit(".", 1)[-1]
            if holds_secret(name, match[3]):
                yield name, match.start(3), match.end(3)


def _tokens(text: str) -> Iterator[Secret]:
    for shape in SHAPES:
        if shape.context and shape.context not in text.lower():
            continue
        for prefix in shape.prefixes:
            yield from _of_shape(text, shape, prefix)


def _of_shape(text: str, shape: Shape, prefix: str) -> Iterator[Secret]:
    at = text.find(prefix)
    while at >= 0:
        after = at + 1
        # Where the token starts before its prefix by a varying length, each length is tried.
        for start in range(max(0, at - shape.back), at + 1) if shape.back else (at,):
            match = shape.pattern.match(text, start)
            if match and match.end() > at:
                if _is_real(shape, match[0]):
                    yield Secret(start, match.end(), shape.kind, "FH202")
                after = match.end()
                break
        at = text.find(prefix, after)


def _is_real(shape: Shape, token: str) -> bool:
    if is_placeholder(token.removeprefix("Bearer").strip()):
        return False
    if shape.kind == "secret API key":
        # ``sk-`` also begins class names of style sheets: words joined by dashes, without a digit.
        has_digit = any(character.isdigit() for character in token)
        dashes = token.count("-")
        return (has_digit and dashes < _MAX_DASHES) or (dashes == 1 and len(token) >= _MIN_DIGITLESS)
    return True


def _private_keys(text: str) -> Iterator[Secret]:
    at = text.find(_PEM)
    while at >= 0:
        after = at + len(_PEM)
        head = _PEM_HEAD.match(text, at)
        if head:
            following = text.find(_PEM, head.end())
            reach = min(head.end() + _PEM_REACH, following if following >= 0 else len(text))
            end = _PEM_END.search(text, head.end(), reach)
            stop = end.start() if end else reach
            bodies = list(_PEM_BODY.finditer(text, head.end(), stop))
            if bodies:
                last = end.end() if end else _word_end(text, bodies[-1].end())
                yield Secret(at, last, "private key", "FH203")
                after = last
        at = text.find(_PEM, after)


def _word_end(text: str, at: int) -> int:
    while at < len(text) and (text[at].isalnum() or text[at] in "+/="):
        at += 1
    return at


def _url_passwords(text: str) -> Iterator[Secret]:
    at = text.find("://")
    while at >= 0:
        match = _URL_USER.match(text, at + 3)
        if match and text[at - 1 : at].isalnum():
            password, host = match[1], match[2]
            user = text[at + 3 : match.start(1) - 1]
            local = host.split(".")[-1] in {"localhost", "example", "test", "invalid"} or "example." in host
            weak = password.lower() == user.lower() and (local or host.startswith("127."))
            named = password.lower() in {"password", "passwd", "pass", "pwd", "secret", "pw"}
            if not (weak or named or is_placeholder(password) or host[0] in "{$"):
                yield Secret(match.start(1), match.end(1), "password in a URL", "FH204")
        at = text.find("://", at + 3)


def _basic_headers(text: str) -> Iterator[Secret]:
    if "Basic " not in text:
        return
    for match in _BASIC.finditer(text):
        encoded = match[1]
        try:
            decoded = base64.b64decode(encoded + "=" * (-len(encoded.rstrip("=")) % 4), validate=False).decode()
        except (binascii.Error, ValueError):
            continue
        user, colon, password = decoded.partition(":")
        if colon and user.isprintable() and password and password.isprintable() and not is_placeholder(password):
            yield Secret(match.start(1), match.end(1), "Basic authorization header", "FH205")


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

    def quote(self, start: int, end: int) -> str:
        """Return the text from ``start`` to ``end``; a secret that reaches into it shows as ``****``."""
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
        index = bisect_left(self._ends, first)
        for start, end in self._spans[index : index + 50]:
            if start > last:
                break
            if end - start >= _MIN_REPEATED:
                message = message.replace(self._text[start:end], MASK)
        return clean(message)


_OPENING = re.compile(r"""[rbufRBUF]{0,2}(\"{3}|'{3}|["'])""")


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


def clean(message: str) -> str:
    """Blot out what is a secret by its own shape."""
    for secret in reversed(find(message)):
        message = message[: secret.start] + MASK + message[secret.end :]
    return message
