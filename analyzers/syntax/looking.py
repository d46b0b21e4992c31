"""How a look begins at a text that tree-sitter reads, whatever its language."""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.deadline import Deadline
from analyzers.looking import Look, missing
from analyzers.model import Parse, ParseError
from analyzers.source import Source, UndecodableError
from analyzers.syntax.reading import Reader, Reading


def begun(
    reader: Reader, language: str, source: Source, undecodable: UndecodableError | None, deadline: Deadline
) -> tuple[Look, Reading | None]:
    """Read the text, and give a look that says how well; no reading where the language's grammar is not installed."""
    found = Look(comments=_no_markers)
    try:
        reading = reader.read(source, deadline)
    except ImportError as error:
        found.parse = Parse.TEXT
        found.unparsed = ((1, len(source.lines)),)
        found.notes.append(missing(f"tree-sitter's grammar of {language}", str(error)))
        return found, None
    found.parse, found.parse_error, found.unparsed = reading.parse, reading.parse_error, reading.unparsed
    if undecodable is not None:
        found.parse = Parse.PARTIAL if reading.parse is Parse.FULL else reading.parse
        found.parse_error = ParseError(1, 1, str(undecodable)[:200])
    return found, reading


def _no_markers(_: str) -> Iterator[tuple[int, str]]:
    return iter(())
