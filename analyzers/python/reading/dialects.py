"""Python of other versions than the one that reads here: Python 2, and what came after this interpreter (to 3.15).

Each function gives the patches that turn one kind of construct into what every Python 3.11 reads, places kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.patterns import lazy
from analyzers.python.reading.patches import Mended, Patch

_PRINT = lazy(
    r"(?:^|(?<=[;:]))[ \t]*(print)([ \t]+)(?![=.,:)\]&|^/%<]|>(?!>)|!=|(?:in|is|and|or|not in|if|else|for)\b)(?=\S)",
    re.MULTILINE,
)
_EXEC = lazy(r"(?:^|(?<=[;:]))[ \t]*(exec)([ \t]+)(?=[\w\"'])(?!(?:in|is|and|or|if)\b)", re.MULTILINE)
_EXEC_IN = lazy(r"[ \t]in[ \t]")
_EXCEPT = lazy(
    r"^[ \t]*except[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+)*|\([^()\n]*\)[ \t]*,[ \t]*\w+)[ \t]*(?=:)", re.MULTILINE
)
_RAISE = lazy(r"(?:^|(?<=[;:]))[ \t]*raise[ \t]+[\w.]+[ \t]*(,)", re.MULTILINE)
_OCTAL = lazy(r"(?<![\w.])0(?=[0-7]+(?![\w.]))(?!0*(?![\w.]))")
_LONG = lazy(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|[0-9]+)([lL])(?!\w)")
_UR = lazy(r"(?<!\w)([uU])(?=[rR][\"'])")
_TEMPLATE = lazy(r"(?<!\w)([tT])(?=[rR]?[\"'])|(?<=[^\w][rR])([tT])(?=[\"'])")
_LAZY = lazy(r"^lazy (?=import\b|from\b)", re.MULTILINE)
_TYPE = lazy(r"^([ \t]*)type[ \t]+([A-Za-z_]\w*)[ \t]*(?=[=\[])", re.MULTILINE)
_GENERIC = lazy(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*(\[)", re.MULTILINE)
_STARRED = lazy(r"[\[({][ \t]*(\*\*?)[ \t]*[\w.()\[\]]+[ \t]+(?:async[ \t]+)?for[ \t]")
_FORMAT = lazy(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])(\"\"\"|'''|\"|')")
_MAX_PARAMETERS = 300
_MAX_FORMAT = 5000
_MAX_PASSES = 10


def python_2(mended: Mended, code: str) -> Iterator[Patch]:
    """Statements and literals that Python 3 gave up."""
    for keyword, pattern in (("print", _PRINT), ("exec", _EXEC)):
        if keyword in code:
            for match in pattern.finditer(code):
                yield from _called(code, match, keyword)
    if "raise" in code:
        for match in _RAISE.finditer(code):
            yield Patch(match.start(1), match.end(1), ";")
    for at in _places(code, "<>"):
        yield Patch(at, at + 2, "!=")
    if "`" in code:
        for number, at in enumerate(_places(code, "`")):
            yield Patch(at, at + 1, ")" if number % 2 else "(")
    for match in _OCTAL.finditer(code):
        yield Patch(match.end(), match.end(), "o")
    for match in _LONG.finditer(code):
        yield Patch(match.start(1), match.end(1), "")
    for match in _UR.finditer(code):
        yield Patch(match.start(1), match.end(1), "")
    yield from _tabs(mended)


def _called(code: str, match: re.Match[str], keyword: str) -> Iterator[Patch]:
    """``print x`` and ``exec x in y`` become calls."""
    end = _statement_end(code, match.end())
    yield Patch(match.start(2), match.end(2), "(" + " " * (match.end(2) - match.start(2) - 1))
    if keyword == "print" and code.startswith(">>", match.end()):
        yield Patch(match.end(), match.end() + 2, "")
    if keyword == "exec":
        for inner in _EXEC_IN.finditer(code, match.end(), end):
            yield Patch(inner.start(), inner.end(), ", ")
    yield Patch(end, end, ")")


def _statement_end(code: str, at: int) -> int:
    """Where the simple statement ends: its line, unless brackets are open, or a ``;`` or comment."""
    depth = 0
    while at < len(code):
        character = code[at]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif (character in ";#" and depth == 0) or (
            character == "\n" and depth <= 0 and (at == 0 or code[at - 1] != "\\")
        ):
            break
        at += 1
    while at > 0 and code[at - 1] in " \t":
        at -= 1
    return at


def _places(code: str, what: str) -> Iterator[int]:
    at = code.find(what)
    while at >= 0:
        yield at
        at = code.find(what, at + len(what))


def _tabs(mended: Mended) -> Iterator[Patch]:
    """Tabs and spaces mixed, as Python 2 read them: a tab goes on to the next eighth column."""
    if "\t" not in mended.text:
        return
    margins = [line[: len(line) - len(line.lstrip(" \t"))] for line in mended.lines]
    if any("\t" in margin for margin in margins) and any(margin.startswith(" ") for margin in margins):
        for start, margin in zip(mended.starts, margins, strict=True):
            if "\t" in margin:
                yield Patch(start, start + len(margin), margin.expandtabs(8))


def handlers(_: Mended, code: str) -> Iterator[Patch]:
    """``except A, e:`` of Python 2, and ``except A, B:`` of Python 3.14, told apart by how the last name is written."""
    if "except" not in code:
        return
    for match in _EXCEPT.finditer(code):
        listed = match[1]
        comma = listed.rfind(",")
        if comma < 0 or (listed.startswith("(") and listed.rfind(")") > comma):
            continue
        last = listed[comma + 1 :].strip()
        at = match.start(1)
        if listed.count(",") == 1 and "." not in last and not last[:1].isupper():
            yield Patch(at + comma, match.end(1), f" as {last}")
        else:
            yield Patch(at, at, "(")
            yield Patch(match.end(1), match.end(1), ")")


def newer(mended: Mended, code: str) -> Iterator[Patch]:
    """What interpreters after 3.11 read: type statements, parameters of types, templates, lazy imports, f-strings."""
    for match in _LAZY.finditer(code):
        yield Patch(match.start(), match.end(), "pass;")
    for match in _TYPE.finditer(code):
        yield Patch(match.end(1), match.start(2), "_ =")
    for match in _GENERIC.finditer(code):
        end = _closing(code, match.start(1))
        if end is not None and "\n" not in code[match.start(1) : end]:
            yield Patch(match.start(1), end, " " * (end - match.start(1)))
    for match in _STARRED.finditer(code):
        yield Patch(match.start(1), match.end(1), " " * len(match[1]))
    for match in _TEMPLATE.finditer(code):
        at = match.start(1) if match[1] else match.start(2)
        yield Patch(at, at + 1, "f")
    yield from _nested_quotes(mended.text)


def _closing(code: str, at: int) -> int | None:
    """Place behind the bracket that closes the one here."""
    depth = 0
    for place in range(at, min(len(code), at + _MAX_PARAMETERS)):
        if code[place] in "([{":
            depth += 1
        elif code[place] in ")]}":
            depth -= 1
            if depth == 0:
                return place + 1
    return None


def _nested_quotes(text: str) -> Iterator[Patch]:
    """Quotes inside the fields of an f-string that are its own: Python 3.12 reads them, 3.11 does not."""
    at, spent = 0, 0
    # What is an unending string after all is read again from its next quote: that may not go on for ever.
    while spent < _MAX_PASSES * len(text) and (match := _FORMAT.search(text, at)):
        patches: list[Patch] = []
        begin = match.end()
        end = _format_end(text[begin : begin + _MAX_FORMAT], 0, match[1], patches)
        spent += _MAX_FORMAT if end is None else end
        at = begin + (end or 0)
        if end is not None:
            yield from (Patch(begin + start, begin + stop, new) for start, stop, new in patches)


def _format_end(text: str, at: int, quote: str, patches: list[Patch]) -> int | None:
    """Place behind an f-string whose text begins here; None if it never ends as one."""
    while at < len(text):
        if text.startswith(quote, at):
            return at + len(quote)
        character = text[at]
        if character == "\\":
            at += 2
        elif character == "{" and not text.startswith("{{", at):
            end = _field_end(text, at + 1, quote, patches)
            if end is None:
                return None
            at = end
        elif character == "\n" and len(quote) == 1:
            return None
        else:
            at += 2 if text.startswith(("{{", "}}"), at) else 1
    return None


def _field_end(text: str, at: int, quote: str, patches: list[Patch]) -> int | None:
    """Place behind the field of an f-string; quotes in it that are the string's own are turned."""
    open_brackets = 0
    while at < len(text):
        character = text[at]
        if character in "\"'":
            end = text.find(character, at + 1)
            if end < 0 or "\n" in text[at:end]:
                return None
            if text[at - 1] in "tT" and not text[at - 2].isalnum():
                patches.append(Patch(at - 1, at, "f"))
            if character == quote[0]:
                other = "'" if character == '"' else '"'
                inner = text[at + 1 : end]
                if other in inner or "\\" in inner:
                    inner = inner.replace(other, " ").replace("\\", "/")
                patches.append(Patch(at, end + 1, f"{other}{inner}{other}"))
            at = end + 1
            continue
        if character == "\n" and len(quote) == 1:
            return None
        if character in "([{":
            open_brackets += 1
        elif character in ")]":
            open_brackets -= 1
        elif character == "}":
            if open_brackets <= 0:
                return at + 1
            open_brackets -= 1
        at += 1
    return None


def patches(mended: Mended) -> list[Patch]:
    """Everything that this interpreter does not read, of older and newer versions."""
    code = mended.code
    return [*python_2(mended, code), *handlers(mended, code), *newer(mended, code)]
