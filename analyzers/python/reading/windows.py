"""Code that does not parse as a whole: its largest parts that do are kept, the rest is taken out and told.

A block is a line with all that is indented below it. A block that does not parse is opened: its header is kept or
replaced, its body is looked at block by block. What is left of a bad line are the calls in it that parse by themselves.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator

from analyzers.deadline import Deadline
from analyzers.patterns import lazy
from analyzers.python.reading.cutting import open_at_end
from analyzers.python.reading.patches import Mended, Patch
from analyzers.python.tokens import TOKEN, code_only
from analyzers.quiet import no_warnings

_CLAUSE = lazy(r"(?:else|elif|except|finally|case)\b|[)\]}]")
_CALL = lazy(r"(?<![\w.])[A-Za-z_][\w.]*+[ \t]*+\(")
_WORD = lazy(r"(?:async[ \t]+)?\w+")
_CLAUSES = {"elif": "elif 1:", "else": "else:", "except": "except ():", "finally": "finally:", "case": "case _:"}
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_MAX_DEPTH = 24
_MOST_AT_ONCE, _LEAST_AT_ONCE = 32, 4
"""Blocks that are parsed together, at first and behind one that did not parse."""
_MAX_PARSES = 2000
_MAX_CALL = 5000
_MAX_HEADER = 50
_SHORTEST = 6  # an empty string in three quotes
_CLOSED_TRY = "\nfinally: pass"


class Salvage:
    """What can be kept of one text.

    Attributes:
        patches: What to put in the place of what cannot.
        lost: First and last line of each stretch that was taken out.
        kept: Whether any statement was left as it is.
    """

    def __init__(self, mended: Mended, deadline: Deadline, fault: int | None = None) -> None:
        """``fault`` is the number of the line at which the whole text stops to be a program, if that is known."""
        self._lines = mended.lines
        self._starts = mended.starts
        text = _without_open_string(mended.text)
        self._code = (mended.code if text == mended.text else code_only(text)).split("\n")
        self._inside = _lines_inside_strings(mended, text)
        self._deadline = deadline
        self._parses = 0
        self._moved: set[int] = set()
        self.patches: list[Patch] = []
        self.lost: list[tuple[int, int]] = []
        self.kept = False
        with no_warnings():
            self._blocks(0, len(self._lines), "", 0, fault)

    def _parses_alone(self, text: str) -> bool:
        return self._fault(text) is None

    def _fault(self, text: str) -> int | None:
        """The line of a text, from 1, on which it stops to be a program; None if it is one."""
        self._parses += 1
        if self._parses > _MAX_PARSES or self._deadline.passed():
            return 1
        try:
            ast.parse(text)
        except SyntaxError as error:
            return error.lineno or 1
        except (ValueError, RecursionError, MemoryError):
            return 1
        return None

    def _fault_in(self, first: int, last: int) -> int | None:
        """The number of the line at which these lines, a block or several alike, stop to be a program."""
        text = "\n".join(self._lines[first:last])
        if self._margin(first):
            line = self._fault(f"if 1:\n{text}")
            return None if line is None else first + max(line - 2, 0)
        line = self._fault(text)
        return None if line is None else first + line - 1

    def _blocks(self, first: int, last: int, margin: str, depth: int, fault: int | None = None) -> bool:
        """Keep what parses of these lines, all at one margin, and say whether anything was.

        ``fault`` is the number of a line with which they are known not to parse. Blocks are parsed several at once: a
        parse that fails says where, so that one slip costs a few parses instead of one for each block.
        """
        kept = False
        blocks = list(self._split(first, last))
        at, reach = 0, _MOST_AT_ONCE
        while at < len(blocks):
            stop = self._alike(blocks, at, reach)
            bad = self._bad_block(blocks[at:stop], fault) if stop - at > 1 else 0
            fault = None
            if bad is None:
                self._keep(blocks[at:stop], margin)
                kept, at, reach = True, stop, min(2 * reach, _MOST_AT_ONCE)
                continue
            good = blocks[at : at + bad]
            if len(good) > 1 and self._fault_in(good[0][0], good[-1][1]) is None:
                self._keep(good, margin)
                kept = True
            else:
                kept |= self._one_by_one(good, margin, depth)
            kept |= self._one_by_one(blocks[at + bad : at + bad + 1], margin, depth)
            at, reach = at + bad + 1, _LEAST_AT_ONCE
        return kept

    def _alike(self, blocks: list[tuple[int, int]], at: int, most: int) -> int:
        """How far blocks stand at the margin of the one here."""
        margin = self._margin(blocks[at][0])
        end = at + 1
        while end < min(at + most, len(blocks)) and self._margin(blocks[end][0]) == margin:
            end += 1
        return end

    def _bad_block(self, blocks: list[tuple[int, int]], fault: int | None) -> int | None:
        """Which of these blocks the parser stops at; None if it does not."""
        start, end = blocks[0][0], blocks[-1][1]
        if fault is None or not start <= fault < end:
            fault = self._fault_in(start, end)
        if fault is None:
            return None
        return next((number for number, (_, after) in enumerate(blocks) if fault < after), len(blocks) - 1)

    def _keep(self, blocks: list[tuple[int, int]], margin: str) -> None:
        self.kept = True
        for start, end in blocks:
            if self._margin(start) != margin:
                self._move(start, end, margin)

    def _one_by_one(self, blocks: list[tuple[int, int]], margin: str, depth: int) -> bool:
        kept = False
        for start, end in blocks:
            if self._margin(start) != margin:
                self._move(start, end, margin)
            kept |= self._block(start, end, margin, depth)
        return kept

    def _split(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Give the first and last line of each block: a line and what is indented more, clauses included."""
        starts: list[int] = []
        base: int | None = None
        decorated = False
        for number in range(first, last):
            if self._inside[number] or not self._code[number].strip():
                continue
            width = _width(self._lines[number])
            if base is None or width < base:
                base = width
            if width > base:
                continue
            text = self._code[number].lstrip()
            if not decorated and not (_CLAUSE.match(text) and starts):
                starts.append(number)
            decorated = text.startswith("@")
        yield from zip(starts, [*starts[1:], last], strict=True)

    def _margin(self, number: int) -> str:
        line = self._lines[number]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _move(self, first: int, last: int, margin: str) -> None:
        """Put a block where its neighbours stand."""
        own = self._margin(first)
        for number in range(first, last):
            if self._lines[number].startswith(own) and not self._inside[number] and number not in self._moved:
                self._moved.add(number)
                self.patches.append(Patch(self._starts[number], self._starts[number] + len(own), margin))

    def _block(self, first: int, last: int, margin: str, depth: int) -> bool:
        fault = self._fault_in(first, last)
        if fault is None:
            self.kept = True
            return True
        head = self._logical_end(first, last)
        body = next((number for number in range(head, last) if self._is_deeper(number, first)), None)
        if body is None or depth > _MAX_DEPTH:
            return self._bad_lines(first, last, margin)
        if self._parses_alone("\n".join(self._lines[first:body]).strip()):
            self.kept = True
            # A whole statement with lines indented below it, as when the first line lost its indentation.
            return self._blocks(body, last, margin, depth + 1, fault) or True
        return self._clauses(first, last, margin, depth, fault)

    def _logical_end(self, first: int, last: int) -> int:
        """The line after the one that begins here, brackets that close further down included."""
        level = 0
        for number in range(first, min(last, first + _MAX_HEADER)):
            code = self._code[number]
            level += sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
            if level <= 0:
                return number + 1
        return first + 1

    def _is_deeper(self, number: int, than: int) -> bool:
        filled = bool(self._code[number].strip()) and not self._inside[number]
        return filled and _width(self._lines[number]) > _width(self._lines[than])

    def _clauses(self, first: int, last: int, margin: str, depth: int, fault: int) -> bool:
        """Look at a header and its body, and at each ``else`` and ``except`` below with theirs."""
        heads = [first]
        end = self._logical_end(first, last)
        for number in range(first + 1, last):
            if number < end or self._inside[number] or not self._code[number].strip():
                continue
            if _width(self._lines[number]) <= _width(self._lines[first]):
                if not self._code[heads[-1]].lstrip().startswith("@"):
                    heads.append(number)
                end = self._logical_end(number, last)
        kept = False
        words = []
        for place, (start, stop) in enumerate(zip(heads, [*heads[1:], last], strict=True)):
            top = self._logical_end(self._below_decorators(start, stop), stop)
            inner = next((number for number in range(top, stop) if self._is_deeper(number, start)), stop)
            words.append((_WORD.match(self._code[start].lstrip()) or [""])[0])
            kept |= self._header(start, inner, margin, is_first=place == 0, has_body=inner < stop)
            if inner < stop:
                kept |= self._blocks(inner, stop, self._margin(inner), depth + 1, fault)
        if words[0] == "try" and not {"except", "finally"}.intersection(words[1:]):
            at = self._starts[first] + len(self._margin(first))
            self.patches.append(Patch(at, at + len("try"), "if 1"))
        return kept

    def _below_decorators(self, first: int, last: int) -> int:
        while first + 1 < last and self._code[first].lstrip().startswith("@"):
            first = self._logical_end(first, last)
        return min(first, last - 1)

    def _header(self, first: int, last: int, margin: str, *, is_first: bool, has_body: bool) -> bool:
        """Keep a header that parses with an empty body; else put one in its place that holds the calls it had."""
        text = "\n".join(line.strip() for line in self._lines[first:last]).strip()
        whole = text if is_first else f"{_opening(text)}{text}"
        if has_body and self._parses_alone(f"{whole} pass{_CLOSED_TRY if text.startswith('try') else ''}"):
            return True
        if not has_body:
            return self._bad_lines(first, last, margin)
        self.lost.append((first + 1, last))
        calls = [self._lines[number][start:end] + ending for number, start, end, ending in self._calls(first, last)]
        word = _WORD.match(text)
        clause = _CLAUSES.get(word[0]) if word and not is_first else None
        self._replace(first, last, clause or (f"if ({', '.join(calls)}):" if calls else "if 1:"))
        return bool(calls)

    def _replace(self, first: int, last: int, new: str) -> None:
        """Put a text in the place of the first of some lines, behind its margin, and blank the others."""
        self.patches.append(Patch(self._starts[first] + len(self._margin(first)), self._end(first), new))
        for number in range(first + 1, last):
            if self._lines[number]:
                self.patches.append(Patch(self._starts[number], self._end(number), ""))

    def _end(self, number: int) -> int:
        return self._starts[number] + len(self._lines[number])

    def _bad_lines(self, first: int, last: int, margin: str) -> bool:
        """Of lines that make no statement keep the calls in them that parse."""
        text = "\n".join(self._lines[first:last]).strip()
        left = open_at_end(text)
        ending = "".join(_PAIRS[bracket] for bracket, _ in reversed(left.brackets))
        if ending and not left.quote and self._parses_alone(text + ending):
            filled = max(number for number in range(first, last) if self._lines[number].strip())
            self.patches.append(Patch(self._end(filled), self._end(filled), ending))
            self.lost.append((first + 1, filled + 1))
            return True
        kept = False
        for number in range(first, last):
            if self._code[number].strip():
                self.lost.append((number + 1, number + 1))
                kept |= self._bad_line(number, margin)
            elif self._inside[number] and self._lines[number]:
                self.patches.append(Patch(self._starts[number], self._end(number), ""))
        return kept

    def _bad_line(self, number: int, margin: str) -> bool:
        own = self._margin(number)
        start, end = self._starts[number], self._end(number)
        if own != margin and number not in self._moved:
            self._moved.add(number)
            self.patches.append(Patch(start, start + len(own), margin))
        at = start + len(own)
        filler = "0;"
        for _, first, last, ending in self._calls(number, number + 1):
            self.patches.append(Patch(at, start + first, filler))
            if ending:
                self.patches.append(Patch(start + last, start + last, ending))
            at, filler = start + last, ";"
        self.patches.append(Patch(at, end, "pass" if filler == "0;" else ""))
        return filler != "0;"

    def _calls(self, first: int, last: int) -> Iterator[tuple[int, int, int, str]]:
        """Give the calls that parse by themselves: line, start and end in it, and what closes one that was cut."""
        for number in range(first, last):
            code, line = self._code[number], self._lines[number]
            at = 0
            while match := _CALL.search(code, at):
                end, ending = _call_end(code, match.end() - 1)
                is_keyword = match[0].rstrip("( \t") in _KEYWORDS
                if not is_keyword and self._parses_alone(line[match.start() : end] + ending):
                    yield number, match.start(), end, ending
                    at = end
                else:
                    at = match.end()


_KEYWORDS = frozenset(
    "if elif while for in not and or return lambda yield await assert def class except with".split(" ")
)


def _call_end(code: str, at: int) -> tuple[int, str]:
    """Where the bracket that opens here closes within its line, and what would close it if it does not."""
    stack: list[str] = []
    for place in range(at, min(len(code), at + _MAX_CALL)):
        character = code[place]
        if character in _PAIRS:
            stack.append(_PAIRS[character])
        elif stack and character == stack[-1]:
            stack.pop()
            if not stack:
                return place + 1, ""
    return len(code.rstrip()), "".join(reversed(stack))


def _line_of(starts: list[int], at: int) -> int:
    return bisect_right(starts, at) - 1


def _opening(text: str) -> str:
    """What has to stand before a clause for it to parse alone."""
    word = text.split(None, 1)[0].rstrip(":")
    if word in {"else", "elif"}:
        return "if 1: pass\n"
    return "match 1:\n case 1: pass\n " if word == "case" else "try: pass\n"


def _width(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(8))


def _has_blocks_of_text(text: str) -> bool:
    return '"""' in text or "'''" in text


def _without_open_string(text: str) -> str:
    """Let a string in three quotes that never ends be no string, so that the code below it is seen."""
    if not _has_blocks_of_text(text):
        return text
    left = open_at_end(text)
    if len(left.quote) <= 1:
        return text
    return f"{text[: left.string_at]}   {text[left.string_at + len(left.quote) :]}"


def _lines_inside_strings(mended: Mended, text: str) -> list[bool]:
    """Whether each line begins inside a string that is closed further down."""
    inside = [False] * len(mended.lines)
    if not _has_blocks_of_text(text):
        return inside
    for token in TOKEN.finditer(text):
        if (
            token["comment"] is None
            and "\n" in token[0]
            and token[0].endswith(token[0][:3])
            and len(token[0]) >= _SHORTEST
        ):
            first, last = _line_of(mended.starts, token.start()), _line_of(mended.starts, token.end() - 1)
            inside[first + 1 : last + 1] = [True] * (last - first)
    return inside
