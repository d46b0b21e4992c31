"""Jupyter notebooks: the code of all cells as one program, in places of the JSON that was sent.

The text is searched for ``source`` by a small reader of JSON that keeps the place of every character, escapes included.
Lines that IPython takes for itself are blanked out of the program; what they hand to a shell is looked at as such.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator

from analyzers import blocks
from analyzers.blocks import Block
from analyzers.deadline import Deadline
from analyzers.languages import languages
from analyzers.looking import Look
from analyzers.model import Parse, ParseError
from analyzers.named import NamedTuple
from analyzers.rule import Rule
from analyzers.source import Source, UndecodableError

RULES: tuple[Rule, ...] = ()
"""Those of the cells' languages."""

_STRING = re.compile(r'"([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"', re.DOTALL)
_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?[0-9][0-9.eE+-]{0,40}|true|false|null")
_ESCAPE = re.compile(
    r'\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(["\\/bfnrt]))'
)
_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MAGIC = re.compile(r"^([ \t]*)(%{1,2}\w|!|\?|\w[\w.]*\?{1,2}[ \t]*$)", re.MULTILINE)
_SHELL = re.compile(r"^[ \t]*!{1,2}(?!=)", re.MULTILINE)
_CELL_MAGIC = re.compile(r"[ \t]*%%(\w+)")
_SHELLS = frozenset({"bash", "sh", "script"})
_OF_PYTHON = frozenset({"time", "timeit", "capture", "prun", "memit", "python", "python3"})
_MOST_DEPTH = 100
_Path = tuple[str | int, ...]
"""The keys and numbers that lead to a value."""
_Stack = list[tuple[bool, _Path, int]]
"""What is open: whether it is an object, its path, and how many values of it were entered."""


class _UnreadableError(ValueError):
    """Not JSON, or nested as no notebook is; the text says where."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


class _Piece(NamedTuple):
    """A stretch of a cell's code: the text, and where each part of it stands in the source."""

    text: str
    segments: list[tuple[int, int]]


def look(source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]) -> Look:
    """See the code of the cells. A text that is no notebook is read as text, and the report says so."""
    del undecodable
    found = Look(comments=_none)
    try:
        cells = list(_cells(source.text))
    except _UnreadableError as error:
        line, column = source.place(error.at)
        found.parse, found.parse_error = Parse.TEXT, ParseError(line, column, str(error))
        found.unparsed = ((1, len(source.lines)),)
        return found
    blocks.add(found, source, _blocks(cells), deadline, engines=engines, judge=True)
    unread = [_lines(cell, source) for cell in cells if _is_unread(cell)]
    found.unparsed = tuple(sorted((*found.unparsed, *unread)))
    return found


def _is_unread(cell: _Piece) -> bool:
    """Whether nobody reads the language of a cell."""
    magic = _CELL_MAGIC.match(cell.text)
    return magic is not None and magic[1] not in _OF_PYTHON | _SHELLS


def _lines(cell: _Piece, source: Source) -> tuple[int, int]:
    """Give the first and last line of a cell, as far as it has parts there."""
    return source.place(cell.segments[0][1])[0], source.place(cell.segments[-1][1])[0]


def _none(_: str) -> Iterator[tuple[int, str]]:
    return iter(())


def _blocks(cells: list[_Piece]) -> Iterator[Block]:
    known = languages()
    program: list[_Piece] = []
    for cell in cells:
        magic = _CELL_MAGIC.match(cell.text)
        if magic and magic[1] not in _OF_PYTHON:
            if magic[1] in _SHELLS and "bash" in known:
                yield _block(_blanked(cell, [magic.span()]), "bash")
            continue
        lines = [match.span() for match in re.finditer(r"[^\n]*", cell.text) if _MAGIC.match(match[0])]
        if lines and "bash" in known:
            yield from (_block(piece, "bash") for piece in _commands(cell))
        program.append(_blanked(cell, lines, instead="pass"))
    if program:
        yield _block(_joined(program), "python")


def _block(piece: _Piece, language: str) -> Block:
    return Block(piece.text, language, tuple(piece.segments), escape=lambda text: json.dumps(text)[1:-1])


def _commands(cell: _Piece) -> Iterator[_Piece]:
    """What ``!`` hands to a shell, each line a program."""
    for match in _SHELL.finditer(cell.text):
        end = cell.text.find("\n", match.end())
        end = len(cell.text) if end < 0 else end
        yield _Piece(cell.text[match.end() : end], _cut(cell.segments, match.end(), end))


def _cut(segments: list[tuple[int, int]], first: int, end: int) -> list[tuple[int, int]]:
    kept = [(0, origin + first - start) for start, origin in segments if start <= first][-1:]
    return kept + [(start - first, origin) for start, origin in segments if first < start < end]


def _blanked(cell: _Piece, places: list[tuple[int, int]], instead: str = "") -> _Piece:
    """Take stretches out of a piece without moving the rest; a word may stand in for a statement."""
    parts, at = [], 0
    for first, end in places:
        line = cell.text[first:end]
        indent = len(line) - len(line.lstrip(" \t"))
        room = len(line) - indent
        parts += [cell.text[at : first + indent], (instead if len(instead) <= room else "").ljust(room)]
        at = end
    return _Piece("".join([*parts, cell.text[at:]]), cell.segments)


def _joined(cells: list[_Piece]) -> _Piece:
    parts, segments, length = [], [], 0
    for cell in cells:
        text = cell.text if cell.text.endswith("\n") else cell.text + "\n"
        parts.append(text)
        segments += [(start + length, origin) for start, origin in cell.segments]
        length += len(text)
    return _Piece("".join(parts), segments)


def _cells(text: str) -> Iterator[_Piece]:
    """Give the code of every code cell, in order."""
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise _UnreadableError(at, "a notebook is a JSON object")
    found: list[tuple[_Path, str, int]] = []
    _read(text, at, found)
    kinds = {path[:-1]: value for path, value, _ in found if path[-1] == "cell_type"}
    sources: dict[_Path, list[tuple[str, int]]] = {}
    for path, value, start in found:
        for owner in (path[:-1], path[:-2]):
            # Version 3 has worksheets, and calls the code of a cell its input.
            if path[len(owner) : len(owner) + 1] in {("source",), ("input",)}:
                sources.setdefault(owner, []).append((value, start))
    for owner, strings in sources.items():
        if kinds.get(owner) == "code":
            yield _piece(strings)


def _piece(strings: list[tuple[str, int]]) -> _Piece:
    parts, segments, length = [], [], 0
    for raw, start in strings:
        at = 0
        segments.append((length, start))
        for match in _ESCAPE.finditer(raw):
            length += match.start() - at
            parts += [raw[at : match.start()], _character(match)]
            segments.append((length, start + match.start()))
            length += 1
            at = match.end()
            segments.append((length, start + at))
        parts.append(raw[at:])
        length += len(raw) - at
    return _Piece("".join(parts), segments)


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(0x10000 + ((int(escape[1], 16) - 0xD800) << 10) + int(escape[2], 16) - 0xDC00)
    return chr(int(escape[3], 16)) if escape[3] else _PLAIN.get(escape[4], escape[4])


def _read(text: str, at: int, found: list[tuple[_Path, str, int]]) -> None:
    """Read one JSON value, without recursion, and note every string below with its path and its first character."""
    stack: _Stack = []
    path: _Path = ()
    while True:
        at = _skip(text, at)
        mark = text[at : at + 1]
        if mark in {"{", "["}:
            if len(stack) == _MOST_DEPTH:
                raise _UnreadableError(at, "nested too deeply")
            stack.append((mark == "{", path, 0))
            at = _skip(text, at + 1)
            if text[at : at + 1] in {"}", "]"}:
                at, path = _close(text, at, stack)
            else:
                at, path = _enter(text, at, stack)
                continue
        elif mark == '"':
            string = _string(text, at)
            found.append((path, string[1], at + 1))
            at = string.end()
        else:
            number = _NUMBER.match(text, at)
            if number is None:
                raise _UnreadableError(at, "not JSON")
            at = number.end()
        while stack:
            at = _skip(text, at)
            if text[at : at + 1] == ",":
                at, path = _enter(text, _skip(text, at + 1), stack)
                break
            at, path = _close(text, at, stack)
        else:
            return


def _enter(text: str, at: int, stack: _Stack) -> tuple[int, _Path]:
    is_object, path, number = stack.pop()
    stack.append((is_object, path, number + 1))
    if not is_object:
        return at, (*path, number)
    key = _string(text, at)
    at = _skip(text, key.end())
    if text[at : at + 1] != ":":
        raise _UnreadableError(at, "a colon is missing")
    return at + 1, (*path, key[1])


def _close(text: str, at: int, stack: _Stack) -> tuple[int, _Path]:
    is_object, path, _ = stack.pop()
    if text[at : at + 1] != ("}" if is_object else "]"):
        raise _UnreadableError(at, "a bracket is missing")
    return at + 1, path


def _string(text: str, at: int) -> re.Match[str]:
    match = _STRING.match(text, at)
    if match is None:
        raise _UnreadableError(at, "a string is missing")
    return match


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
