"""The stages for a text that is no program as it was sent, each tried where the one before was not enough.

unwrapped -> other versions -> a cut-off end -> the parts that parse -> nothing but tokens
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from analyzers.deadline import Deadline
from analyzers.model import Parse, ParseError
from analyzers.python.reading import cutting, dialects, windows, wrapping
from analyzers.python.reading.patches import Mended, MendedSource, Patch
from analyzers.python.reading.reading import Reading
from analyzers.python.tree import parse
from analyzers.source import Source

_WRAPPINGS: tuple[Callable[[Mended], list[Patch]], ...] = (
    wrapping.characters,
    wrapping.fences,
    wrapping.diff,
    wrapping.prompts,
    wrapping.indentation,
    wrapping.magics,
)
_CUT_WORDS = ("never closed", "unterminated", "unexpected EOF", "expected an indented block", "expected 'except'")


def mend(source: Source, error: ParseError, deadline: Deadline) -> Reading:
    """Read as much as there is of a text that did not parse, for the reason given."""
    mended, last = _unwrapped(Mended(source), error, deadline)
    if isinstance(last, ast.Module):
        return Reading(last, MendedSource(mended), Parse.REPAIRED, error)
    for version, lost in _ended(mended, last, deadline):
        module = parse(source, version.text)
        if isinstance(module, ast.Module):
            return Reading(module, MendedSource(version), Parse.REPAIRED, error, lost)
    return _in_parts(mended, error, last, deadline)


def _unwrapped(mended: Mended, last: ParseError, deadline: Deadline) -> tuple[Mended, ast.Module | ParseError]:
    """Take off what the code is wrapped in, then turn what another version of Python reads."""
    outcome = last
    unwrapped = mended
    for unwrap in _WRAPPINGS:
        if deadline.passed():
            return mended, outcome
        unwrapped = unwrapped.with_patches(unwrap(unwrapped))
    if unwrapped is not mended:
        again = parse(mended.source, unwrapped.text)
        if isinstance(again, ast.Module):
            return unwrapped, again
        outcome = again
    turned = unwrapped.with_patches(dialects.patches(unwrapped))
    if turned is not unwrapped:
        again = parse(mended.source, turned.text)
        if isinstance(again, ast.Module) or again.line >= outcome.line:
            return turned, again
    return unwrapped, outcome


def _ended(
    mended: Mended, error: ParseError, deadline: Deadline
) -> Iterator[tuple[Mended, tuple[tuple[int, int], ...]]]:
    """Give versions of the text whose end is whole again, with the lines that were left out for it."""
    length = len(mended.text.rstrip().split("\n"))
    if error.line < length and not any(word in error.message for word in _CUT_WORDS):
        return
    for patches in cutting.endings(mended):
        if deadline.passed():
            return
        # What was begun there is not known to the end, whether it could be finished or not.
        first = mended.text.count("\n", 0, patches[0].start) + 1
        yield mended.with_patches(patches), ((min(first, length), length),)


def _in_parts(mended: Mended, error: ParseError, last: ParseError, deadline: Deadline) -> Reading:
    source = mended.source
    salvage = windows.Salvage(mended, deadline, last.line - 1)
    version = mended.with_patches(salvage.patches)
    module = parse(source, version.text)
    if not isinstance(module, ast.Module):
        return Reading(None, source, Parse.TEXT, error, ((1, max(len(source.lines), 1)),))
    lost = _joined(salvage.lost)
    understood = Parse.REPAIRED if not lost else Parse.PARTIAL if salvage.kept else Parse.TEXT
    return Reading(module, MendedSource(version), understood, error, lost)


def _joined(stretches: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Put stretches of lines that touch together, in order."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)
