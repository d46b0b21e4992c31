"""Several programs in one text: each is looked at by its own language, and everything is told in places of the whole.

A block's text is not always a stretch of the source: lines of a quote lose their marks, strings of JSON their escapes.
Its segments say where each part of it came from.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator

from analyzers.capabilities import Wanted, collected
from analyzers.deadline import Deadline
from analyzers.languages import reader_of
from analyzers.looking import Import, Look, StatementLines, cut_short
from analyzers.model import Edit, Finding, Fix, Parse, ParseError, Span
from analyzers.named import NamedTuple
from analyzers.rule import Seen
from analyzers.source import Source

_WORSE = {Parse.FULL: 0, Parse.REPAIRED: 1, Parse.PARTIAL: 2, Parse.TEXT: 3}


class Block(NamedTuple):
    """One program.

    ``segments`` are pairs, in order: from this place of the block on, characters follow one another as from that place
    of the source on. ``escape`` turns a text of the block into one of the source; None where that cannot be done.
    """

    text: str
    language: str
    segments: tuple[tuple[int, int], ...]
    escape: Callable[[str], str] | None = str
    whole: tuple[int, int] | None = None
    """Where all of it stands, if its parts cannot be told apart there."""


class _Placed:
    """One block, the source it was taken from, and what was seen in it."""

    def __init__(self, block: Block, around: Source, look: Look, source: Source) -> None:
        self.block = block
        self.around = around
        self.look = look
        self.source = source
        self._starts = [start for start, _ in block.segments]

    def offset(self, at: int) -> int:
        """Turn a place in the block into one in the source."""
        number = max(0, bisect_right(self._starts, at) - 1)
        start, origin = self.block.segments[number]
        return origin + at - start

    def span(self, span: Span) -> Span:
        """Turn a span of the block into one of the source."""
        if self.block.whole is not None:
            return self.around.between(*self.block.whole)
        start, end = self.source.offsets(span)
        # The end is behind a character: where that came from matters, not where the next one did.
        return self.around.between(self.offset(start), self.offset(end - 1) + 1 if end > start else self.offset(start))

    def line(self, line: int) -> int:
        """Turn a line of the block into one of the source."""
        if self.block.whole is not None:
            return self.around.place(self.block.whole[0])[0]
        starts = self.source.starts
        return self.around.place(self.offset(starts[min(line, len(starts)) - 1]))[0]

    def seen(self, seen: Seen) -> Seen:
        """Turn what was seen in the block into what is seen in the source."""
        hit = seen.hit
        secret = None if hit.secret is None else self.span(hit.secret)
        return seen._replace(hit=hit._replace(span=self.span(hit.span), secret=secret))

    def fix(self, finding: Finding, original: Span) -> Fix | None:
        """Offer the block's own fix, in places and words of the source."""
        escape = self.block.escape
        fix = self.look.fix(finding._replace(span=original)) if escape and self.block.whole is None else None
        if fix is None or escape is None:
            return None
        edits = tuple(Edit(self.span(edit.span), escape(edit.text)) for edit in fix.edits)
        return fix._replace(edits=edits)


def add(
    found: Look, source: Source, blocks: Iterable[Block], deadline: Deadline, *, engines: Collection[str], judge: bool
) -> None:
    """Look at blocks of a source and add what is seen to what was seen.

    ``judge`` says that the blocks are the source's programs: how well they parse is then how well it does, and their
    comments count. Those of a program in a string do not: a marker inside a string takes nothing back.
    """
    placed = []
    for block in blocks:
        if deadline.passed():
            found.notes.append(cut_short("the blocks", source.place(block.segments[0][1])[0]))
            break
        placed.append(_look(block, source, deadline, engines))
    if not placed:
        return
    origins: dict[tuple[str, Span], tuple[_Placed, Span]] = {}
    unparsed: list[tuple[int, int]] = list(found.unparsed)
    wanted: list[Wanted] = list(found.wanted)
    for one in placed:
        look = one.look
        for seen in (*look.seen, *look.others):
            origins[seen.label.id, one.span(seen.hit.span)] = one, seen.hit.span
        found.seen += map(one.seen, look.seen)
        found.others += map(one.seen, look.others)
        found.notes += map(one.seen, look.notes)
        found.masked += map(one.span, look.masked)
        found.imports += [Import(module, one.span(span), guarded) for module, span, guarded in look.imports]
        wanted += [Wanted(capability, one.line(line)) for capability, line in look.wanted]
        if judge:
            unparsed += [(one.line(first), one.line(last)) for first, last in look.unparsed]
            if _WORSE[look.parse] > _WORSE[found.parse]:
                found.parse = look.parse
            if found.parse_error is None and look.parse_error is not None:
                found.parse_error = _error(one, look.parse_error)
    found.unparsed = tuple(sorted(unparsed))
    found.wanted = collected(wanted)
    _compose(found, placed, origins, judge=judge)


def _look(block: Block, around: Source, deadline: Deadline, engines: Collection[str]) -> _Placed:
    source = Source(block.text)
    return _Placed(block, around, reader_of(block.language).look(source, None, deadline, engines=engines), source)


def _error(one: _Placed, error: ParseError) -> ParseError:
    place = one.span(Span(error.line, error.column, error.line, error.column))
    return ParseError(place.line, place.column, error.message)


def _compose(
    found: Look, placed: list[_Placed], origins: dict[tuple[str, Span], tuple[_Placed, Span]], *, judge: bool
) -> None:
    own_comments, own_lines, own_fix = found.comments, found.statement_lines, found.fix

    def comments(text: str) -> Iterator[tuple[int, str]]:
        yield from own_comments(text)
        for one in placed:
            for at, comment in one.look.comments(one.source.text):
                yield one.offset(at), comment

    def statement_lines() -> StatementLines:
        lines = dict(own_lines())
        for one in placed:
            for line, (first, last) in one.look.statement_lines().items():
                lines[one.line(line)] = one.line(first), one.line(last)
        return lines

    def fix(finding: Finding) -> Fix | None:
        origin = origins.get((finding.rule, finding.span))
        return own_fix(finding) if origin is None else origin[0].fix(finding, origin[1])

    if judge:
        found.comments = comments
    found.statement_lines = statement_lines
    found.fix = fix
