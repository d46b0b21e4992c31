"""Names and the values beside them, found in text without a parser: code of any language, settings, headers, XML.

Work starts where a telling word stands and stays within a few hundred characters of it, so a text costs its length
whatever it is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.credentials import holds_bare_secret, holds_secret
from analyzers.named import NamedTuple
from analyzers.patterns import lazy

HINTS = lazy(
    r"passw|passphrase|passwort|pwd|pswd|secret|token|key|cred|auth|jwt|bearer|webhook|login|contrase|_pass|pass_|pass\b"
    r"|_pw\b|_pat\b|[a-z]pass\b|motdepasse"
    r"|cloudflare|sourcegraph|meraki|facebook|heroku",
    re.ASCII,
)
_HINT_WORDS = (
    "motdepasse pwd pswd secret token key cred auth jwt bearer webhook login contrase _pw _pat "
    "cloudflare sourcegraph meraki facebook heroku"
).split()
"""One of these, or ``pass`` with up to one character before, begins every match of HINTS."""
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-ñ")
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_MOST_NAME = 100
_MOST_VALUE = 400
_LEAST_VALUE = 4
_MOST_BARE = 300
_OPERATOR = lazy(
    r"""(?P<closing>\\?["'`])?[\])]{0,2}(?:\[\d{0,4}\])?
    (?: [ \t]{0,20} (?::[ \t]{0,4}[A-Za-z]\w{0,20}[ \t]{0,4}(?==) | [ \t][A-Za-z]\w{0,20}[ \t]{1,4}(?=:?=))?
        (?P<operator> => | -> | :{1,3}= | \?= | \|\|= | \+= | \.= | [=!]={1,2} | = | : | , | \( | > )
      | ,?\s{1,40}["']?value["']?[ \t]{0,4}(?P<attribute>[:=])
      | (?P<space>[ \t]{1,8})
    )
    [ \t]{0,40} (?P<break>\n[ \t]{1,40}|\r?\n)? [=@]?[rRbBuUfFL]{0,2}(?=(?P<quote>\\?(?:\"\"\"|'''|["'`]))?)""",
    re.VERBOSE,
)
_BARE = lazy(r"[^\s\"'`\\]{1,301}")
_ELEMENT = lazy(r"[^\s\"'`\\<>]{1,301}")
_SCHEME = lazy(r"(?:Basic|Bearer|Token|Api-Token|Api-Key|ApiKey|FlyV1)[ ]{1,3}(?=\S)", re.IGNORECASE)
_YODA = lazy(r"""(["'`])[ \t]{0,8}[=!]={1,2}[ \t]{0,8}$""")
_SETTING_START = lazy(r"""(?:[-#/*;>\s"'{,]|export[ ]|ENV[ ]|set[ ]|-e[ ]|--|\$|var[ ]|const[ ]|let[ ]){0,6}$""")
_WORD_BEFORE = lazy(r"\b(?:def|return|new|import|from|class|func|function)[ \t]+$")
_SETTERS = lazy(r"(?:set|with|add|use)_?(?=[A-Z_a-z])", re.ASCII)
_REACH = 60


class Pair(NamedTuple):
    """A name that tells of a secret, and where its value stands. ``bare`` says that no quotes stand around it."""

    name: str
    start: int
    end: int
    bare: bool = False


def find_pairs(text: str, *, settings: bool = True) -> Iterator[Pair]:
    """Every telling name beside a value that is a secret, in order, each value once.

    ``settings`` says that ``name = value`` may be a setting: in a program the value would be an expression.
    """
    past, told = 0, -1
    # Not every letter's lower case is one letter; places must stay what they are.
    lowered = text.lower() if text.isascii() else text.translate(_LOWER)
    for at in _hints(lowered):
        hint = HINTS.match(lowered, at) if at >= past else None
        if hint is None:
            continue
        start, past = _name_around(text, at, hint.end())
        for pair in _of_name(text, start, past, settings=settings):
            if pair.start > told:
                told = pair.start
                yield pair
                break


def _hints(lowered: str) -> list[int]:
    """Where HINTS may match, in order. Words are found faster one by one than by a pattern of all of them."""
    places = [place for word in _HINT_WORDS if word in lowered for place in _places(lowered, word)]
    if "pass" in lowered:
        places += [place for at in _places(lowered, "pass") for place in ((at - 1, at) if at else (at,))]
    return sorted(places)


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _name_around(text: str, start: int, end: int) -> tuple[int, int]:
    first, last = max(0, start - _MOST_NAME), min(len(text), end + _MOST_NAME)
    while start > first and text[start - 1] in _NAME_CHARACTERS:
        start -= 1
    while end < last and text[end] in _NAME_CHARACTERS:
        end += 1
    return start, end


def _of_name(text: str, start: int, end: int, *, settings: bool) -> Iterator[Pair]:
    name = text[start:end].strip(".-")
    name = name[name.rfind(".") + 1 :] if not name.lower().endswith((".login", ".key", ".accessid")) else name
    before = text[max(0, start - _REACH) : start]
    yoda = _YODA.search(before)
    if yoda and (pair := _before(text, name, start - (len(before) - yoda.start()))):
        yield pair
    match = _OPERATOR.match(text, end)
    if match is None or _WORD_BEFORE.search(before):
        return
    operator = match["operator"] or match["attribute"] or ""
    if text.startswith("--", start):
        before += "--"
    quoted_name = match["closing"] is not None
    if match["quote"]:
        if _may_be_quoted(text, match, operator, name, before, quoted_name=quoted_name):
            yield from _quoted(text, name, match)
    elif operator not in {",", "(", "==", "!=", "===", "!==", "->", ".=", ""} or before.endswith("--"):
        yield from _bare(text, name, match, before, operator, settings=settings)


def _may_be_quoted(
    text: str, match: re.Match[str], operator: str, name: str, before: str, *, quoted_name: bool
) -> bool:
    if match["break"]:
        return operator in {":", "=", "=>", ":="} and not match["break"].endswith("\n")
    if operator == ",":
        return quoted_name
    if operator == "(":
        return _SETTERS.match(name) is not None
    if operator == ">":
        return False
    if operator == "":
        # ``password "…";`` and ``--api-key "…"``
        stop = text.find(match["quote"], match.end() + 1, match.end() + _MOST_VALUE)
        return before.endswith("--") or (stop > 0 and text[stop + 1 : stop + 2] in {";", ""} and not quoted_name)
    return True


def _quoted(text: str, name: str, match: re.Match[str]) -> Iterator[Pair]:
    quote = match["quote"]
    start = match.end() + len(quote)
    end = text.find(quote, start, start + _MOST_VALUE)
    if end >= start + _LEAST_VALUE and "\n" not in text[start:end] and holds_secret(_bare_name(name), text[start:end]):
        yield Pair(name, start, end)


def _bare_name(name: str) -> str:
    setter = _SETTERS.match(name)
    return name[setter.end() :] if setter and len(name) > setter.end() else name


def _bare(text: str, name: str, match: re.Match[str], before: str, operator: str, *, settings: bool) -> Iterator[Pair]:
    element = operator == ">"
    if match["break"] and not element and not (match["break"].strip("\r\n") and operator == ":"):
        return
    at = match.end()
    scheme = _SCHEME.match(text, at)
    at = scheme.end() if scheme else at
    value = (_ELEMENT if element else _BARE).match(text, at)
    if value is None or len(value[0]) > _MOST_BARE or (element and not before.endswith("<")):
        return
    end = at + len(value[0].rstrip(",;)"))
    line_end = text.find("\n", end, end + 4)
    rest = text[end : line_end if line_end >= 0 else end + 4]
    is_setting = _SETTING_START.search(before.rpartition("\n")[2]) is not None and rest.strip(" \r,\"'`\\&") == ""
    is_setting = is_setting and (operator == ":" or "=" in operator)
    if operator in {"=", ":=", "=>"} and match[0].strip(" \t") != match[0] and not name.isupper() and "-" not in name:
        # ``password = hunter2`` is an assignment in most languages; drawn at random it is a value in all of them.
        is_setting = is_setting and settings and not value[0].isidentifier()
    if holds_bare_secret(name, text[at:end], is_setting=is_setting or scheme is not None):
        yield Pair(name, at, end, bare=True)


def _before(text: str, name: str, closing: int) -> Pair | None:
    """``"value" == name``: the literal that ends at ``closing``."""
    start = text.rfind(text[closing], max(0, closing - _MOST_VALUE), closing)
    if start < 0 or "\n" in text[start:closing]:
        return None
    return Pair(name, start + 1, closing) if holds_secret(name, text[start + 1 : closing]) else None
