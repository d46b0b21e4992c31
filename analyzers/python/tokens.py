"""Strings, comments and the code between them, found without a parser: for text that has none, and for comments.

An unterminated string ends with its line (a triple-quoted one with the text), so one slip costs one line and the
scan stays linear whatever it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.patterns import lazy
from analyzers.python.interests import Table
from analyzers.python.rules import dynamic, exceptions
from analyzers.rule import Hit, Seen
from analyzers.secret_rules import named_secrets
from analyzers.source import Source

TOKEN = lazy(
    r'''(?P<comment>\#[^\n]*+)
      | """[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+(?:""")?
      | \'\'\'[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+(?:\'\'\')?
      | "[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?
      | '[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'?''',
    re.VERBOSE | re.DOTALL,
)
_DYNAMIC = lazy(
    r"(?<![\w.])(?:builtins\.|__builtins__\.)?(eval|exec)[ \t]*\(|^[ \t]*(exec)[ \t]+(?=[\w\"'])", re.MULTILINE
)
_DEFINITION = lazy(r"\bdef[ \t]+$")
_BARE_EXCEPT = lazy(r"^[ \t]*(except(?:[ \t]|\\\n)*:)", re.MULTILINE)
_CALL = lazy(r"(?<![\w.])([A-Za-z_]\w*+(?:\.\w++)++)[ \t]*+\(")
_DEF_REACH = 20


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Every comment with its place."""
    for match in TOKEN.finditer(text):
        if match["comment"] is not None:
            yield match.start(), match[0]


def code_only(text: str) -> str:
    """Blank out comments and the insides of strings; every other character stays in its place."""
    parts, at = [], 0
    for match in TOKEN.finditer(text):
        start, end = match.span()
        parts += [text[at:start], text[start], _blank(text[start + 1 : end - 1]), text[max(start + 1, end - 1) : end]]
        at = end
    parts.append(text[at:])
    return "".join(parts)


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


def look(source: Source, table: Table) -> Iterator[Seen]:
    """What can be seen in text that is not a program: calls by name, dynamic code, bare excepts, named secrets."""
    code = code_only(source.text)
    rules = {"eval": dynamic.RULES[0], "exec": dynamic.RULES[1]}
    for match in _DYNAMIC.finditer(code):
        name = match[1] or match[2]
        if not _DEFINITION.search(code, max(0, match.start() - _DEF_REACH), match.start()):
            start = match.start(1 if match[1] else 2)
            hit = Hit(
                span=source.between(start, start + len(name)),
                message=f"{name} runs the text it is given as code",
                confidence=Confidence.MEDIUM,
            )
            yield rules[name].seen(hit)
    for match in _CALL.finditer(code):
        for rule in table.calls.get(match[1], ()):
            if rule.severity.rank >= Severity.LOW.rank:
                message = f"{match[1]}: {rule.name}, as far as a text that is no program shows"
                hit = Hit(span=source.between(*match.span(1)), message=message, confidence=Confidence.LOW)
                yield rule.seen(hit)
    for match in _BARE_EXCEPT.finditer(code):
        hit = Hit(
            span=source.between(*match.span(1)),
            message="a bare except catches everything, KeyboardInterrupt and SystemExit included",
            confidence=Confidence.MEDIUM,
        )
        yield exceptions.RULES[0].seen(hit)
    yield from named_secrets(source, settings=False)
