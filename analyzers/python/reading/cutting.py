"""Code whose end was cut off: what is open is closed, and what was begun is finished or left out."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from analyzers.named import NamedTuple
from analyzers.patterns import lazy
from analyzers.python.reading.patches import Mended, Patch
from analyzers.python.tokens import TOKEN
from analyzers.quiet import no_warnings

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_BRACKET = lazy(r"[()\[\]{}]")
_UNFINISHED = lazy(r"(?:[-+*/%@&|^<>=~!]|\b(?:and|or|not|in|is|if|else|return|yield|await|lambda|for))\s*$")
_DOTTED = lazy(r"\w\.\s*$")
_BLOCK = lazy(
    r"[ \t]*(?:(?:async[ \t]+)?(?:def|for|with)|class|if|elif|else|try|except|finally|while|match|case)\b"
    r"[^#\n]*:\s*(?:#.*)?$"
)
_COMPOUND = lazy(r"[ \t]*(?:(?:async[ \t]+)?(?:def|for|with)|class|if|elif|while|match|case|except)\b")
_CODE = lazy(r"^[ \t]*(?:def|class|import|from|return|if|for|while|with|try)\b|[=(]", re.MULTILINE)
_TRY = lazy(r"[ \t]*try[ \t]*:")


class Open(NamedTuple):
    """What is open at the end of a text: brackets from the outermost, and the quote of a string."""

    brackets: tuple[tuple[str, int], ...]
    quote: str
    string_at: int


def open_at_end(text: str) -> Open:
    """Find what a text leaves open. A string in one quote ends with its line."""
    stack: list[tuple[str, int]] = []
    at, quote, string_at = 0, "", -1
    for token in TOKEN.finditer(text):
        _brackets(text, at, token.start(), stack)
        at = token.end()
        if token["comment"] is None:
            quote, string_at = _unclosed(token[0]), token.start()
            if quote and at < len(text):
                quote = ""  # it ended with its line
    _brackets(text, at, len(text), stack)
    return Open(tuple(stack), quote if at == len(text) else "", string_at)


def _brackets(text: str, start: int, end: int, stack: list[tuple[str, int]]) -> None:
    for match in _BRACKET.finditer(text, start, end):
        bracket = match[0]
        if bracket in _CLOSING:
            stack.append((bracket, match.start()))
        elif stack and _CLOSING[stack[-1][0]] == bracket:
            stack.pop()


def _unclosed(token: str) -> str:
    """The quote that would end a string which has none, or nothing."""
    for quote in ('"""', "'''"):
        if token.startswith(quote):
            return "" if len(token) >= 2 * len(quote) and token.endswith(quote) else quote
    return "" if len(token) > 1 and token[-1] == token[0] else token[0]


def endings(mended: Mended) -> Iterator[list[Patch]]:
    """Give ways to end the text, the one that keeps most first. The first patch of each is the one at the end."""
    text = mended.text.rstrip()
    left = open_at_end(text)
    if swallows_code(text, left):
        return
    closing = "".join(_CLOSING[bracket] for bracket, _ in reversed(left.brackets))
    ending = left.quote + ("" if left.quote else _fill(text)) + closing
    end = len(text)
    waiting = _unhandled(text)
    last_line = text[text.rfind("\n") + 1 :]
    if not ending and _BLOCK.match(last_line):
        begin, ending = end, " pass"
        if "#" in last_line:
            begin = text.rindex("#")
        yield [Patch(begin, len(mended.text), ending), *waiting]
    else:
        opener = text[text.rfind("\n", 0, left.brackets[0][1]) + 1 :] if left.brackets else last_line
        if _COMPOUND.match(opener):
            # A bare ``except`` would be a finding of our own making.
            caught = " ()" if opener.strip() == "except" else ""
            yield [Patch(end, len(mended.text), f"{ending}{caught}: pass"), *waiting]
        yield [Patch(end, len(mended.text), ending), *waiting]
    at = left.brackets[0][1] if left.brackets else left.string_at if left.quote else end
    start = text.rfind("\n", 0, at) + 1
    if text[start:].strip() and _is_last(text[start:]):
        before = text[:start]
        yield [Patch(start + len(_margin(text[start:])), len(mended.text), "pass"), *_unhandled(before)]


def _is_last(statement: str) -> bool:
    """Whether nothing stands below that could be a statement of its own: then the text broke off here."""
    first, *others = statement.split("\n")
    width = len(_margin(first))
    return all(not line.strip() or len(_margin(line)) > width for line in others)


def swallows_code(text: str, left: Open) -> bool:
    """Whether an open string in three quotes holds what reads like code: then its end was forgotten, not cut off."""
    if len(left.quote) == 1 or not left.quote:
        return False
    inside = textwrap.dedent(text[left.string_at :].partition("\n")[2])
    if not _CODE.search(inside):
        return False
    try:
        with no_warnings():
            ast.parse(inside)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _fill(text: str) -> str:
    """Something to stand where the text breaks off within an expression."""
    code = text[-200:]
    if _DOTTED.search(code):
        return "_"
    return " None" if _UNFINISHED.search(code) else ""


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unhandled(text: str) -> list[Patch]:
    """Turn each ``try`` that has no handler yet into something that needs none."""
    waiting: list[tuple[str, int]] = []
    at = 0
    for line in text.split("\n"):
        margin = _margin(line)
        if line.strip() and not line.lstrip().startswith("#"):
            while waiting and len(margin) < len(waiting[-1][0]):
                waiting.pop()
            if waiting and margin == waiting[-1][0]:
                waiting.pop()
            if _TRY.match(line):
                waiting.append((margin, at + len(margin)))
        at += len(line) + 1
    return [Patch(start, start + len("try"), "if 1") for _, start in waiting]
