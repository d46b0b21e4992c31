"""Rules about regular expressions that take for ever on the wrong text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.interests import calls
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, text_of
from analyzers.rule import Hit, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MODULES = ("re", "regex")
_FUNCTIONS = ("compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
_MAX_PATTERN = 2000
_MANY = 20
"""A repeat this often is as good as without end."""
_MAX_DEPTH = 20
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT"})


def exploding_pattern(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A pattern with a repeat inside a repeat can match one text in exponentially many ways.

    ``(a+)+$`` needs a minute for thirty characters. Let the two repeats have nothing in common, say how long a match
    may be, use possessive quantifiers (Python 3.11), or match in steps.
    """
    pattern = text_of(argument(call, 0, "pattern"), at)
    if pattern and len(pattern) <= _MAX_PATTERN and _may_explode(pattern):
        yield at.hit(call, "this pattern can match one text in exponentially many ways")


def _may_explode(pattern: str) -> bool:
    if not any(end in pattern for end in (")+", ")*", "){")):
        return False
    from re import _parser  # type: ignore[attr-defined] # noqa: PLC0415 - Python's own reading of a pattern

    try:
        parsed = _parser.parse(pattern)
    except Exception:  # noqa: BLE001 - a pattern of somebody else's may break the reader in any way
        return False
    return _explodes(parsed, 0)


def _explodes(items: Any, depth: int) -> bool:  # noqa: ANN401 - re's own lists of pairs
    """Whether a repeat without end holds what can be read in more than one way."""
    if depth > _MAX_DEPTH:
        return False
    for name, value in _named(items):
        if name in _REPEATS and value[1] >= _MANY and _is_ambiguous(value[2]):
            return True
        if any(_explodes(part, depth + 1) for part in _parts(name, value)):
            return True
    return False


def _is_ambiguous(body: Any) -> bool:  # noqa: ANN401 - likewise
    """Whether going round a loop twice and once can read the same text."""
    items = _flat(body)
    for place, (name, value) in enumerate(items):
        if name in _REPEATS and value[1] >= _MANY:
            inner = _characters(value[2])
            others = items[:place] + items[place + 1 :]
            if inner is not None and all(_can_vanish(other, inner) for other in others):
                return True
        if name == "BRANCH" and len(items) == 1:
            firsts = [found for branch in value[1] if (found := _characters(branch)) is not None]
            if any(first & second for index, first in enumerate(firsts) for second in firsts[index + 1 :]):
                return True
    return False


def _can_vanish(item: tuple[str, Any], inner: frozenset[int]) -> bool:
    """Whether an item beside the inner repeat may be absent, or reads what the repeat reads."""
    name, value = item
    if name == "AT" or (name in _REPEATS and value[0] == 0):
        return True
    characters = _characters(value[2] if name in _REPEATS else [item])
    return characters is not None and bool(characters & inner)


def _named(items: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - likewise
    for code, value in items:
        yield str(code), value


def _parts(name: str, value: Any) -> list[Any]:  # noqa: ANN401 - likewise
    match name:
        case "MAX_REPEAT" | "MIN_REPEAT":
            return [value[2]]
        case "SUBPATTERN":
            return [value[3]]
        case "BRANCH":
            return list(value[1])
        case "ASSERT" | "ASSERT_NOT":
            return [value[1]]
        case _:
            return []


def _flat(body: Any) -> list[tuple[str, Any]]:  # noqa: ANN401 - likewise
    """The items of a sequence, with groups opened."""
    items: list[tuple[str, Any]] = []
    for name, value in _named(body):
        items += _flat(value[3]) if name == "SUBPATTERN" else [(name, value)]
    return items


_ALL = frozenset(range(128))
_WORD = frozenset(code for code in range(128) if chr(code).isalnum() or chr(code) == "_")
_DIGIT = frozenset(range(ord("0"), ord("9") + 1))
_SPACE = frozenset(map(ord, " \t\n\r\f\v"))
_CATEGORIES = {
    "CATEGORY_WORD": _WORD,
    "CATEGORY_NOT_WORD": _ALL - _WORD,
    "CATEGORY_DIGIT": _DIGIT,
    "CATEGORY_NOT_DIGIT": _ALL - _DIGIT,
    "CATEGORY_SPACE": _SPACE,
    "CATEGORY_NOT_SPACE": _ALL - _SPACE,
}


def _characters(items: Any) -> frozenset[int] | None:  # noqa: ANN401 - likewise
    """The ASCII characters that one item reads; None for what is no single item."""
    flat = _flat(items)
    if len(flat) != 1:
        return None
    name, value = flat[0]
    match name:
        case "LITERAL":
            return frozenset({value}) if isinstance(value, int) else None
        case "NOT_LITERAL":
            return _ALL - {value}
        case "ANY":
            return _ALL - {ord("\n")}
        case "IN":
            return _class(value)
        case "CATEGORY":
            return _CATEGORIES.get(str(value))
        case "MAX_REPEAT" | "MIN_REPEAT":
            return _characters(value[2])
        case _:
            return None


def _class(value: Any) -> frozenset[int]:  # noqa: ANN401 - likewise
    found: set[int] = set()
    negated = False
    for name, part in _named(value):
        match name:
            case "NEGATE":
                negated = True
            case "LITERAL":
                found.add(part)
            case "RANGE":
                found.update(range(part[0], min(part[1], 127) + 1))
            case "CATEGORY":
                found |= _CATEGORIES.get(str(part), frozenset())
            case _:
                pass
    return _ALL - found if negated else frozenset(found)


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH310",
        name="exploding-pattern",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=1333,
        check=exploding_pattern,
        on=(calls(" ".join(f"{module}.{name}" for module in _MODULES for name in _FUNCTIONS)),),
        hits=(
            "import re\nre.compile(r'^(a+)+$')\n",
            "import re\nre.match(r'(\\w+\\s?)*$', text)\n",
            "import re\nre.search(r'(\\w+|\\d)*b', x)\n",
            "import re\nre.fullmatch(r'([a-z]+)*@x', x)\n",
        ),
        misses=(
            "import re\nre.compile(r'^(\\w+,)*$')\n",
            "import re\nre.compile(r'(a|b)*c')\n",
            "import re\nre.compile(r'\\d+(\\.\\d+)*')\n",
            "import re\nre.compile(pattern)\n",
            "import re\nre.compile(r'(a{1,3})*')\n",
        ),
    ),
)
