"""Repairs of text that is nearly a program: fences, diffs, gaps, and a cut-off beginning or end.

Every repair replaces characters by spaces or adds after the end, so that every place keeps its line and column. Bytes
in, bytes out; a repair that has nothing to do returns None.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_FENCE = re.compile(rb"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+#.\-]*)[^\n`]*$", re.MULTILINE)
_DIFF_LINE = re.compile(
    rb"^(?:(\+)(?!\+\+ )|(-|@@|diff --git |index [0-9a-f]+\.\.|\+\+\+ |\\ No newline)).*$", re.MULTILINE
)
_LINE = re.compile(rb"^.*\S.*$", re.MULTILINE)
_GAP = re.compile(rb"^[ \t]*(?:\.{3}|\xe2\x80\xa6)[ \t]*$", re.MULTILINE)
_BLANK = re.compile(rb"[^\n]")
_PAIRS = {b")": b"(", b"]": b"[", b"}": b"{"}
_CLOSING = {opening: closing for closing, opening in _PAIRS.items()}
_MAX_UNCLOSED = 200


@dataclass(frozen=True, slots=True)
class Mended:
    """The text after a repair, and the lines (first and last, from 1) that were left out as no part of the program."""

    data: bytes
    left_out: tuple[tuple[int, int], ...] = ()


def unfence(data: bytes, languages: frozenset[str]) -> Mended | None:
    """Keep what stands in Markdown fences marked with one of these languages or none; blank the rest.

    A fence without its partner belongs to a cut-off text: the block runs to the end, or from the beginning where
    nothing follows the fence.
    """
    if b"```" not in data and b"~~~" not in data:
        return None
    fences = list(_FENCE.finditer(data))
    if not fences:
        return None
    kept: list[tuple[int, int]] = []
    if len(fences) == 1 and not fences[0][2] and not data[fences[0].end() :].strip():
        kept.append((0, fences[0].start()))
    else:
        for index in range(0, len(fences), 2):
            end = fences[index + 1].start() if index + 1 < len(fences) else len(data)
            name = fences[index][2].decode("ascii", "replace").lower()
            if not name or name in languages:
                kept.append((fences[index].end(), end))
    parts, at, line = [], 0, 1
    left_out: list[tuple[int, int]] = []
    for start, end in [*kept, (len(data), len(data))]:
        parts += [_blank(data[at:start]), data[start:end]]
        left_out += _prose(data[at:start], line)
        line += data.count(b"\n", at, end)
        at = end
    return Mended(b"".join(parts), tuple(left_out))


def _prose(data: bytes, first: int) -> Iterable[tuple[int, int]]:
    """Lines with words on them that are no fences."""
    for number, line in enumerate(data.split(b"\n"), first):
        if line.strip() and not _FENCE.fullmatch(line):
            yield number, number


def within(data: bytes, most_bytes: int, most_nesting: int) -> Mended | None:
    """Leave out what a parser should not be given: the rest of a text that is too long, brackets too deep in others."""
    left_out: list[tuple[int, int]] = []
    if len(data) > most_bytes:
        end = data.rfind(b"\n", 0, most_bytes)
        end = end if end > 0 else most_bytes
        left_out.append((data.count(b"\n", 0, end + 1) + 1, data.count(b"\n") + 1))
        data = data[:end]
    if data.count(b"(") + data.count(b"[") + data.count(b"{") > most_nesting:
        shallow, lines = _shallow(data, most_nesting)
        if lines:
            data = shallow
            left_out += lines
    return Mended(data, tuple(left_out)) if left_out else None


_BRACKET = re.compile(rb"([(\[{])|[)\]}]")


def _shallow(data: bytes, most: int) -> tuple[bytes, list[tuple[int, int]]]:
    """Blank every bracket that stands deeper than ``most`` in others."""
    changed = bytearray(data)
    depth = 0
    first = last = -1
    for bracket in _BRACKET.finditer(data):
        if bracket[1]:
            depth += 1
        if depth > most:
            at = bracket.start()
            changed[at : at + 1] = b" "
            first, last = (at if first < 0 else first), at
        if not bracket[1]:
            depth = max(0, depth - 1)
    if first < 0:
        return data, []
    return bytes(changed), [(data.count(b"\n", 0, first) + 1, data.count(b"\n", 0, last) + 1)]


def undiff(data: bytes) -> Mended | None:
    """Read a unified diff as the text after it: ``+`` goes, removed lines and headers are blanked."""
    marked = list(_DIFF_LINE.finditer(data))
    added = sum(1 for match in marked if match[1])
    if not added or len(marked) * 2 < sum(1 for _ in _LINE.finditer(data)):
        return None
    parts, at = [], 0
    for match in marked:
        parts.append(data[at : match.start()])
        parts.append(b" " + match[0][1:] if match[1] else _blank(match[0]))
        at = match.end()
    parts.append(data[at:])
    return Mended(b"".join(parts))


def without_gaps(data: bytes) -> Mended | None:
    """Blank the lines that are three dots and nothing else: the writer left something out there."""
    changed = _GAP.sub(lambda match: _blank(match[0]), data)
    return Mended(changed) if changed != data else None


def close(data: bytes, tokens: re.Pattern[bytes]) -> Mended | None:
    """Close what a cut-off end left open, and blank closing brackets whose beginning was cut off.

    ``tokens`` matches the language's strings and comments whole, and its brackets one by one. A string that the end of
    the text cuts is closed by nobody: its line is lost.
    """
    opened: list[bytes] = []
    stray: list[int] = []
    for match in tokens.finditer(data):
        token = match[0]
        if token in _CLOSING:
            opened.append(token)
        elif token in _PAIRS:
            if opened and opened[-1] == _PAIRS[token]:
                opened.pop()
            elif not opened:
                stray.append(match.start())
            elif _PAIRS[token] in opened[-3:]:
                # One slip inside: the outer bracket ends here all the same.
                while opened.pop() != _PAIRS[token]:
                    pass
    if (not opened and not stray) or len(opened) > _MAX_UNCLOSED:
        return None
    changed = bytearray(data)
    for at in stray:
        changed[at : at + 1] = b" "
    closing = b"".join(_CLOSING[token] for token in reversed(opened))
    return Mended(bytes(changed) + (b"\n" + closing if closing else b""))


def without_last_line(data: bytes) -> Mended | None:
    """Blank the last line that has anything on it: the cut went through it."""
    start = data.rstrip().rfind(b"\n") + 1
    return Mended(data[:start] + _blank(data[start:])) if data[start:].strip() else None


def _blank(data: bytes) -> bytes:
    return _BLANK.sub(b" ", data)
