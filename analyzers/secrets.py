"""Finds what is a secret by its own shape, in any text, whatever the language.

The shape of the value is the evidence: an issuer's prefix, a PEM block, a password in a URL, a Basic header, the
arguments of curl, the data of a Kubernetes secret. A telling name beside a value is another kind of evidence:
:mod:`analyzers.pairs` finds it in plain text, a language with a parser in its tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.issuers import INDEX
from analyzers.named import NamedTuple
from analyzers.patterns import lazy
from analyzers.placeholders import bits, is_placeholder, is_published
from analyzers.shapes import Shape

MASK = "****"

_PEM = "-----BEGIN "
_PEM_HEAD = lazy(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = lazy(r"-----END [A-Z0-9 ]{1,40}-----")
_PEM_BODY = lazy(r"[A-Za-z0-9+/]{20}")
_PEM_REACH = 20_000
_CARRIED_BY = ("://", "asic ", "curl", "sshpass", "mysql", "kind:")
_LEAST_BITS = 1.9
_LEAST_DRAWN = 12
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_MOST_JUMPS = 64
_JUMP_EVERY = 200
_MOST_TOKEN = 4000


class Secret(NamedTuple):
    """A secret value at ``start`` to ``end`` of the text."""

    start: int
    end: int
    kind: str
    rule: str


def find(text: str) -> list[Secret]:
    """Every value that is a secret by its own shape, in order, none overlapping another."""
    found = [*_private_keys(text), *_tokens(text)]
    if any(trigger in text for trigger in _CARRIED_BY):
        from analyzers import carriers  # noqa: PLC0415 - its patterns cost a start more than most texts need

        found += (Secret(*carried) for carried in carriers.find(text))
    found.sort(key=lambda secret: (secret.start, -secret.end))
    kept: list[Secret] = []
    for secret in found:
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return kept


def _tokens(text: str) -> Iterator[Secret]:
    for prefix, shape in INDEX.prefixes_in(text):
        yield from _of_shape(text, shape, prefix)


def _of_shape(text: str, shape: Shape, prefix: str) -> Iterator[Secret]:
    for match in _matches(text, shape, prefix):
        if _is_real(shape, prefix, match[0]):
            yield Secret(match.start(), match.end(), shape.kind, "FH202")


def _matches(text: str, shape: Shape, prefix: str) -> Iterator[re.Match[str]]:
    """Jump from prefix to prefix where these are few; bait that is made of prefixes is searched in one go."""
    at = done = 0
    for _ in range(_MOST_JUMPS + len(text) // _JUMP_EVERY):
        at = text.find(prefix, at)
        if at < 0:
            return
        if shape.back:
            # The token begins before its prefix, by how much is known.
            match = shape.pattern.search(text, max(done, at - shape.back), at + _MOST_TOKEN)
            match = match if match and match.start() <= at else None
        else:
            match = shape.pattern.match(text, at)
        if match:
            yield match
            done = match.end()
        at = match.end() if match else at + 1
    for match in shape.pattern.finditer(text, at):
        if prefix in match[0]:
            yield match


def _is_real(shape: Shape, prefix: str, token: str) -> bool:
    body = token.replace(prefix, "", 1).strip()
    if body and (is_placeholder(body) or (len(body) >= _LEAST_DRAWN and bits(body) < _LEAST_BITS)):
        return False
    if is_published(token) or _ALPHABET in body or _ALPHABET.upper() in body:
        return False
    return shape.accepts is None or shape.accepts(token)


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
