"""One text read as well as it can be: whole, after repairs, or around what is broken; and which of these it was."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzers.deadline import Deadline
from analyzers.model import Parse, ParseError
from analyzers.source import Source
from analyzers.syntax import mend
from analyzers.syntax.grammar import MAX_BYTES, MAX_NESTING, Grammar, RefusedError, faults, misread_lines

if TYPE_CHECKING:
    from tree_sitter import Node

_SHARE = 0.6
"""Of the time that is left, for reading; and of that, for the first attempt."""
_BEGINNING_BYTES = 1 << 15
_MAX_MENDED_BYTES = 1 << 18
_SLOW_SECONDS = 0.25
_Repair = Callable[[bytes], mend.Mended | None]


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of it. ``root`` is None where the text was refused; ``data`` is what ``root`` counts its bytes in."""

    data: bytes
    root: Node | None
    parse: Parse
    parse_error: ParseError | None = None
    unparsed: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """How the text of one language is read.

    ``languages`` are the names by which Markdown marks it; ``tokens`` matches its strings, comments and brackets.
    """

    grammar: Grammar
    languages: frozenset[str]
    tokens: re.Pattern[bytes]

    def read(self, source: Source, deadline: Deadline) -> Reading:
        """Read a text. Raises ImportError where the grammar is not installed, and nothing else."""
        data = source.text.encode("utf-8", "surrogatepass")
        unfenced = mend.unfence(data, self.languages)
        left_out = unfenced.left_out if unfenced else ()
        if unfenced:
            data = unfenced.data
        bounded = mend.within(data, MAX_BYTES, MAX_NESTING)
        if bounded:
            data, left_out = bounded.data, (*left_out, *bounded.left_out)
        deadline = deadline.share(_SHARE)
        try:
            root = self.grammar.parse(data, deadline.share(_SHARE))
        except RefusedError as refused:
            # Better its beginning than nothing.
            bounded = mend.within(data, _BEGINNING_BYTES, MAX_NESTING)
            if bounded is None:
                return Reading(data, None, Parse.TEXT, ParseError(1, 1, str(refused)), ((1, len(source.lines)),))
            data, left_out = bounded.data, (*left_out, *bounded.left_out)
            root = self.grammar.parse(data, deadline)
        error = _error(root, source) if root.has_error else None
        if bounded:
            error = ParseError(bounded.left_out[0][0], 1, "too large or nested too deeply to parse as a whole")
        mended = unfenced is not None or bounded is not None
        if root.has_error and not bounded:
            better = self._mend(data, root, deadline)
            if better is not None:
                data, root = better
                mended = True
        unparsed = _joined([*left_out, *_within(misread_lines(root), len(source.lines))])
        if unparsed and (root.has_error or bounded):
            parse = Parse.PARTIAL
        else:
            parse = Parse.REPAIRED if mended or error is not None else Parse.FULL
        return Reading(data, root, parse, error, unparsed)

    def _mend(self, data: bytes, root: Node, deadline: Deadline) -> tuple[bytes, Node] | None:
        """Try the repairs one upon the other, each kept if it leaves less that is not understood."""
        begun = time.monotonic()
        best: tuple[bytes, Node] | None = None
        least = _damage(root)
        if len(data) > _MAX_MENDED_BYTES:
            return None
        repairs: tuple[_Repair, ...] = (mend.undiff, mend.without_gaps, self._close, self._close_without_last_line)
        for repair in repairs:
            if not least or deadline.passed() or time.monotonic() - begun > _SLOW_SECONDS:
                break
            mended = repair(data)
            if mended is None:
                continue
            try:
                candidate = self.grammar.parse(mended.data, deadline)
            except RefusedError:
                break
            damage = _damage(candidate)
            if damage < least:
                best, least = (mended.data, candidate), damage
                data = mended.data
        return best

    def _close(self, data: bytes) -> mend.Mended | None:
        return mend.close(data, self.tokens)

    def _close_without_last_line(self, data: bytes) -> mend.Mended | None:
        shorter = mend.without_last_line(data)
        return shorter and (self._close(shorter.data) or shorter)


def _damage(root: Node) -> int:
    """How many bytes stand in ``ERROR`` nodes; a token that the parser made up counts as one."""
    return sum(max(1, fault.end_byte - fault.start_byte) for fault in faults(root))


def _error(root: Node, source: Source) -> ParseError | None:
    for fault in faults(root):
        row, column = fault.start_point
        line = min(row + 1, len(source.lines))
        message = f"{fault.type!r} is missing here" if fault.is_missing else "this is not part of any statement"
        width = len(source.lines[line - 1]) + 1
        return ParseError(line, min(source.column(line, column), width) if line == row + 1 else width, message)
    return None


def _within(ranges: list[tuple[int, int]], lines: int) -> list[tuple[int, int]]:
    return [(first, min(last, lines)) for first, last in ranges if first <= lines]


def _joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)
