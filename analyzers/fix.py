"""Put edits into the text they were made for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from analyzers.model import Fix, Span

_LINE_END = re.compile(r"\r\n|\r|\n")
_BOM = "\ufeff"


class UnfixableError(ValueError):
    """The edits do not fit this text, or what they make of it is not a program."""


def apply(code: str, fixes: Iterable[Fix], *, unsafe: bool = False, is_program: bool = True) -> str:
    """Apply the safe fixes (all of them if ``unsafe``) to the text they were made for, line ends and all.

    Where ``is_program`` the result has to be a Python program; a text that only holds programs need not be one.

    Fixes that overlap an earlier one are left out: analyse again for those. Raises UnfixableError, and then nothing
    was changed.
    """
    wanted = [one for one in fixes if one.safe or unsafe]
    return fit_together(code, wanted, is_program=is_program)[0]


def fit_together(code: str, fixes: Sequence[Fix], *, is_program: bool = True) -> tuple[str, frozenset[int]]:
    """Apply fixes, safe or not, as :func:`apply` does; say too which, by their number, were not left out."""
    start_of_text = len(_BOM) if code.startswith(_BOM) else 0
    starts = [start_of_text, *(match.end() for match in _LINE_END.finditer(code))]
    line_end = match[0] if (match := _LINE_END.search(code)) else "\n"
    taken: dict[tuple[int, int], str] = {}
    numbers = set()
    for number, one in enumerate(fixes):
        edits = {_place(edit.span, starts, code): edit.text for edit in one.edits}
        new = {place: text for place, text in edits.items() if taken.get(place) != text}
        if not any(_clash(place, other) for place in new for other in taken):
            taken |= new
            numbers.add(number)
    for (start, end), text in sorted(taken.items(), reverse=True):
        code = code[:start] + text.replace("\n", line_end) + code[end:]
    if taken and is_program:
        _require_program(code)
    return code, frozenset(numbers)


def _place(span: Span, starts: list[int], code: str) -> tuple[int, int]:
    if span.end_line > len(starts):
        raise UnfixableError(f"line {span.end_line}: the text has only {len(starts)}")
    start, end = starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
    if not 0 <= start <= end <= len(code):
        raise UnfixableError(f"line {span.line}: no column {span.end_column}")
    return start, end


def _clash(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one == other or (one[0] < other[1] and other[0] < one[1])


def _require_program(code: str) -> None:
    from analyzers.python.tree import parse  # noqa: PLC0415 - a cycle otherwise: the tree's reader asks for fixes
    from analyzers.source import read  # noqa: PLC0415 - likewise

    source, undecodable = read(code)
    error = undecodable or parse(source, source.text)
    if not hasattr(error, "body"):
        raise UnfixableError(f"the edited text does not parse: {error}")
