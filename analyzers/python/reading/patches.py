"""A text that was mended inside its lines, and where in the text as it was sent each place of it stands.

No patch adds or takes away a line, so line numbers hold, and places within a line are counted back through the patches.
Mending may go in rounds: each mends what the one before gave.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property

from analyzers.model import Span
from analyzers.named import NamedTuple
from analyzers.python.tokens import code_only
from analyzers.source import Source


class Patch(NamedTuple):
    """Put ``text`` in the place of what stands from ``start`` to ``end``; neither holds the end of a line."""

    start: int
    end: int
    text: str


class Mended:
    """A text after some rounds of patches.

    Attributes:
        source: The text as it was sent.
        text: What came of it.
    """

    def __init__(self, source: Source, before: Mended | None = None, patches: Iterable[Patch] = ()) -> None:
        self.source = source
        self._before = before
        base: str = source.text if before is None else before.text
        self.patches = sorted(patches)
        parts, at = [], 0
        for start, end, text in self.patches:
            parts += [base[at:start], text]
            at = end
        parts.append(base[at:])
        self.text: str = "".join(parts) if self.patches else base

    def with_patches(self, patches: Iterable[Patch]) -> Mended:
        """Mend further. Patches that overlap an earlier one of the same round are left out."""
        kept: list[Patch] = []
        for patch in sorted(patches):
            if not kept or patch.start >= kept[-1].end:
                kept.append(patch)
        return Mended(self.source, self, kept) if kept else self

    @cached_property
    def lines(self) -> list[str]:
        """The mended lines, without their ends."""
        return self.text.split("\n")

    @cached_property
    def code(self) -> str:
        """The mended text without comments and the insides of strings, every place kept."""
        return code_only(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """Where in the mended text each line starts."""
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line) + 1
        return starts

    @cached_property
    def _moves(self) -> dict[int, list[tuple[int, int, int, int]]]:
        """For each line with patches: from and to in the mended line, from and to in the line before."""
        moves: dict[int, list[tuple[int, int, int, int]]] = {}
        before = self._before
        starts = self.source.starts if before is None else before.starts
        line, shift = 0, 0
        for start, end, text in self.patches:
            at = bisect_right(starts, start) - 1
            if at != line:
                line, shift = at, 0
            first = start - starts[at]
            moves.setdefault(at + 1, []).append((first + shift, first + shift + len(text), first, end - starts[at]))
            shift += len(text) - (end - start)
        return moves

    @cached_property
    def touched(self) -> frozenset[int]:
        """The lines, from 1, that any round of patches changed."""
        own = frozenset(self._moves)
        return own if self._before is None else own | self._before.touched

    def original(self, line: int, column: int) -> int:
        """Where in its line as it was sent a place of a mended line stands; both count from 0."""
        if self.patches:
            moved = 0
            for new_start, new_end, old_start, old_end in self._moves.get(line, ()):
                if column < new_start:
                    break
                if column < new_end:
                    moved = min(old_start + column - new_start, old_end) - column
                    break
                moved = old_end - new_end
            column += moved
        return column if self._before is None else self._before.original(line, column)


class MendedSource(Source):
    """The source as it was sent, for a tree that was made of what came of it by mending."""

    def __init__(self, mended: Mended) -> None:
        super().__init__(mended.source.text)
        self._mended = mended
        self._parsed = Source(mended.text)
        self._plain = self.text.isascii() and mended.text.isascii()

    def column(self, line: int, byte_column: int) -> int:
        """Turn the parser's place in a mended line (UTF-8 bytes from 0) into characters of the line as sent, from 1."""
        column = self._mended.original(line, self._parsed.column(line, byte_column) - 1)
        length = len(self.lines[line - 1]) if line <= len(self.lines) else 0
        return min(max(column, 0), length) + 1

    def span(self, line: int, byte_column: int, end_line: int, end_byte_column: int) -> Span:
        """Make a span of the parser's numbers; what mending added below the last line counts as its end."""
        last = len(self.lines)
        touched = self._mended.touched
        if self._plain and end_line <= last and line not in touched and end_line not in touched:
            return Span(line, byte_column + 1, end_line, end_byte_column + 1)
        if end_line > last:
            end_line, end_byte_column = last, 1 << 30
        start = Span(min(line, last), self.column(min(line, last), byte_column), end_line, 0)
        end = max(self.column(end_line, end_byte_column), start.column if start.line == end_line else 1)
        return start._replace(end_column=end)
