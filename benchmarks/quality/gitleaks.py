"""The true and false cases that gitleaks keeps beside each of its rules, read from a checkout of its Go source.

``tps`` and ``fps`` of every rule function are evaluated without running Go: string literals, sums, ``append``, the few
helper calls that build samples, and random secrets, which are drawn here from a fixed seed.
"""

from __future__ import annotations

import ast
import functools
import random
import re
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_go
from tree_sitter import Language, Node, Parser

from analyzers import analyze
from quality.measures import AT_LEAST, AT_MOST, Measure, share

FOLDERS = ("gitleaks",)

_RULES = "cmd/generate/config/rules"
_CLASSES = {
    "Numeric": "[0-9]{%s}",
    "Hex": "[a-f0-9]{%s}",
    "AlphaNumeric": "[a-z0-9]{%s}",
    "AlphaNumericExtendedShort": "[a-z0-9_-]{%s}",
    "AlphaNumericExtended": "[a-z0-9=_-]{%s}",
    "AlphaNumericExtendedLong": "[a-z0-9/=_+-]{%s}",
}
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_FORMS = (
    '{i}Token="{s}"', '{i}Token = "{s}"', "{i}Token={s}", "{i}Token = {s}", '{{\n    "{i}_token": "{s}"\n}}',
    '{{"config.ini": "{I}_TOKEN={s}\nBACKUP_ENABLED=true"}}', "<{i}Token>\n    {s}\n</{i}Token>", "{i}_token: {s}",
    "{i}_token: '{s}'", '{i}_token: "{s}"', 'string {i}Token = "{s}";', 'var {i}Token string = "{s}"',
    '{i}Token := "{s}"', "{i}Token := `{s}`", 'String {i}Token = "{s}";', 'var {i}Token = "{s}"',
    '${i}Token .= "{s}"', "{i}Token = '{s}'", '{i}Token = "{s}"', 'System.setProperty("{I}_TOKEN", "{s}")',
    '  "{i}Token" => "{s}"', '{i}_TOKEN = "{s}"', '{i}_TOKEN := "{s}"', '{i}_TOKEN ::= "{s}"',
    '{i}_TOKEN :::= "{s}"', '{i}_TOKEN ?= "{s}"',
)  # fmt: skip
_MOST_REPEATS = 12


def measure(checkout: Path) -> Iterable[Measure]:
    """Say which cases are found. A text that one rule calls a secret and another does not counts as a secret."""
    everything, unread = cases(checkout)
    secrets = {case.text.strip() for case in everything if case.secret}
    asked = [case for case in everything if case.text.strip()]
    literal = [case for case in asked if case.secret and case.literal]
    drawn = [case for case in asked if case.secret and not case.literal]
    false = [case for case in asked if not case.secret and case.literal and case.text.strip() not in secrets]
    left_out = f"{len(unread)} lists that Go code computes are left out"
    yield _found("true cases written out", literal, AT_LEAST, 0.90)
    yield _found(f"true cases drawn from patterns ({left_out})", drawn, AT_LEAST, 0.90)
    yield _found("false cases written out", false, AT_MOST, 0.05)


def _found(what: str, asked: list[Case], relation: str, bound: float) -> Measure:
    told = {case.name: kinds(case.text, "text") for case in asked}
    found = [case for case in asked if told[case.name]]
    wrong = [case for case in asked if bool(told[case.name]) != case.secret]
    counted = f"{len(found)} of {len(asked)}"
    # Of what is drawn there are two dozen forms of each rule: the rule's name says enough.
    misses = {case.name if case.literal else case.name.rpartition(":")[0]: None for case in wrong}
    return Measure("gitleaks", what, share(len(found), len(asked)), relation, bound, counted, tuple(misses))


def kinds(text: str, language: str) -> dict[str, str]:
    """The rules about secrets that say something about a text, and what they say."""
    return {one.rule: one.message for one in analyze(text, language).findings if one.rule.startswith("FH2")}


@dataclass(frozen=True, slots=True)
class Case:
    """One text, whether a secret stands in it, and whether the text is written out in the source of its owner."""

    name: str
    text: str
    secret: bool
    literal: bool = True


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    literal: bool = True


class UnreadableError(ValueError):
    """A Go expression whose value only running it would tell; the text says which."""


def cases(checkout: Path) -> tuple[list[Case], list[str]]:
    """Every case of every rule in file order, and what was not read: texts that Go code computes."""
    parser = Parser(Language(tree_sitter_go.language()))
    found: list[Case] = []
    unread: list[str] = []
    for path in sorted((checkout / _RULES).glob("*.go")):
        root = parser.parse(path.read_bytes()).root_node
        shared = [assignment for node in root.children if node.type == "var_declaration" for assignment in _specs(node)]
        for node in root.children:
            if node.type == "function_declaration":
                name = _text(node.child_by_field_name("name"))
                reader = _Reader(random.Random(f"{path.name}:{name}"))  # noqa: S311 - samples, and the same each time
                found += [
                    Case(f"{path.stem}:{name}:{kind}{at}", one.text, kind == "tp", one.literal)
                    for kind, texts in reader.read([*shared, *_assignments(node)])
                    for at, one in enumerate(texts)
                ]
                unread += [f"{path.stem}:{name}: {what}" for what in reader.unread]
    return found, unread


class _Reader:
    """Evaluates one Go function as far as its cases need it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._values: dict[str, list[_Text] | _Text] = {}
        self.unread: list[str] = []
        self._unread: list[str] = []

    def read(self, assignments: list[tuple[str, Node]]) -> Iterator[tuple[str, list[_Text]]]:
        for name, value in assignments:
            self._unread = []
            try:
                self._values[name] = self._value(value)
            except UnreadableError as error:
                self._unread.append(str(error))
            if name in {"tps", "fps"}:
                self.unread += self._unread
        for kind in ("tp", "fp"):
            texts = self._values.get(f"{kind}s", [])
            if isinstance(texts, list):
                yield kind, texts

    def _value(self, node: Node) -> list[_Text] | _Text:
        match node.type:
            case "interpreted_string_literal":
                return _Text(ast.literal_eval(_text(node)))
            case "raw_string_literal":
                return _Text(_text(node)[1:-1])
            case "identifier" if _text(node) in self._values:
                return self._values[_text(node)]
            case "binary_expression" if _text(node.child_by_field_name("operator")) == "+":
                left, right = (self._string(node.child_by_field_name(side)) for side in ("left", "right"))
                return _Text(left.text + right.text, left.literal and right.literal)
            case "composite_literal":
                return list(self._items(node.child_by_field_name("body")))
            case "call_expression":
                return self._call(node)
            case _:
                raise UnreadableError(f"{node.type}: {_text(node)[:80]}")

    def _string(self, node: Node | None) -> _Text:
        value = self._value(node) if node is not None else []
        if not isinstance(value, _Text):
            raise UnreadableError(f"not a string: {_text(node)[:80]}")
        return value

    def _items(self, body: Node | None) -> Iterator[_Text]:
        for item in body.named_children if body is not None else ():
            if item.type == "comment":
                continue
            try:
                value = item.named_children[-1]
                yield self._string(value.named_children[0] if value.type == "literal_element" else value)
            except UnreadableError as error:
                self._unread.append(str(error))

    def _call(self, node: Node) -> list[_Text] | _Text:
        arguments = [one for one in _children(node.child_by_field_name("arguments")) if one.type != "comment"]
        function = _text(node.child_by_field_name("function")).rpartition(".")[2]
        if function == "append":
            texts: list[_Text] = []
            for argument in arguments:
                inner = argument.named_children[0] if argument.type == "variadic_argument" else argument
                value = self._value(inner)
                texts += [value] if isinstance(value, _Text) else value
            return texts
        given = [self._string(argument) for argument in arguments]
        if function in _CLASSES:
            return _Text(_CLASSES[function] % given[0].text)
        match function:
            case "Hex8_4_4_4_12":
                return _Text(_UUID)
            case "NewSecret" | "newPlausibleSecret":
                return _Text(_drawn(given[0].text, self._chance, plausible=function[0] == "n"), literal=False)
            case "Sprintf":
                return _Text(given[0].text % tuple(one.text for one in given[1:]), all(one.literal for one in given))
            case "GenerateSampleSecret":
                return _Text(f'{given[0].text}_api_token = "{given[1].text}"', literal=False)
            case "GenerateSampleSecrets":
                name, secret = given[0].text, given[1].text
                return [_Text(form.format(i=name, I=name.upper(), s=secret), literal=False) for form in _FORMS]
            case _:
                raise UnreadableError(f"call of {function}")


def _specs(declaration: Node) -> Iterator[tuple[str, Node]]:
    specs = [one for one in declaration.named_children if one.type == "var_spec"]
    specs += [
        one for inner in declaration.named_children if inner.type == "var_spec_list" for one in inner.named_children
    ]
    for spec in specs:
        values = _children(spec.child_by_field_name("value"))
        if len(values) == 1:
            yield _text(spec.child_by_field_name("name")), values[0]


def _assignments(function: Node) -> Iterator[tuple[str, Node]]:
    stack = [function]
    while stack:
        node = stack.pop()
        if node.type == "var_declaration":
            yield from _specs(node)
        elif node.type in {"short_var_declaration", "assignment_statement"}:
            left, right = (_children(node.child_by_field_name(side)) for side in ("left", "right"))
            if len(left) == len(right) == 1:
                yield _text(left[0]), right[0]
        else:
            stack.extend(reversed(node.named_children))


def _children(node: Node | None) -> list[Node]:
    return list(node.named_children) if node is not None else []


def _text(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""


_PART = re.compile(r"\(\?[a-z-]*:|\[(?:\\.|[^\]])+\]|\\.|[^\\]")
_TIMES = re.compile(r"\{(\d+)(,?)(\d*)\}|([?*+])")


def _drawn(pattern: str, chance: random.Random, *, plausible: bool) -> str:
    """Make a text of a pattern. Plausible: as gitleaks has it, with a digit in it."""
    while True:
        text = _alternatives(pattern, chance)
        if not plausible or re.search("[1-9]", text):
            return text


def _alternatives(pattern: str, chance: random.Random) -> str:
    return _sequence(chance.choice(_split(pattern)), chance)


def _split(pattern: str) -> list[str]:
    parts, depth, at, start, in_class = [], 0, 0, 0, False
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            at += 1
        elif character in "[]":
            in_class = character == "["
        elif not in_class:
            depth += {"(": 1, ")": -1}.get(character, 0)
            if character == "|" and depth == 0:
                parts.append(pattern[start:at])
                start = at + 1
        at += 1
    return [*parts, pattern[start:]]


def _sequence(pattern: str, chance: random.Random) -> str:
    made: list[str] = []
    make: Callable[[], str]
    at, folded = 0, False
    while at < len(pattern):
        if pattern.startswith(("(?i)", "\\b"), at):
            folded, at = folded or pattern[at] == "(", at + (4 if pattern[at] == "(" else 2)
            continue
        if pattern[at] == "(":
            end = _closing(pattern, at)
            inner = re.sub(r"^\?[a-z-]*:", "", pattern[at + 1 : end])
            at = end + 1
            make = functools.partial(_alternatives, inner, chance)
        else:
            part = _PART.match(pattern, at)
            assert part is not None  # noqa: S101 - the last alternative takes anything
            at = part.end()
            choice = _characters(part[0], folded=folded)
            make = functools.partial(chance.choice, choice)
        times = _TIMES.match(pattern, at)
        at = times.end() if times else at
        made += [make() for _ in range(_count(times, chance))]
    return "".join(made)


def _closing(pattern: str, at: int) -> int:
    depth = 0
    for index in range(at, len(pattern)):
        depth += {"(": 1, ")": -1}.get(pattern[index], 0)
        if depth == 0:
            return index
    raise UnreadableError(f"pattern {pattern}")


def _count(times: re.Match[str] | None, chance: random.Random) -> int:
    if times is None:
        return 1
    if times[4]:
        return chance.randint(*{"?": (0, 1), "*": (0, _MOST_REPEATS), "+": (1, _MOST_REPEATS)}[times[4]])
    least = int(times[1])
    most = int(times[3]) if times[3] else least + (_MOST_REPEATS if times[2] else 0)
    return chance.randint(least, most)


def _characters(part: str, *, folded: bool) -> str:
    if part[0] != "[" and part[0] != "\\":
        return part
    pattern = re.compile(part.replace("[:alnum:]", "A-Za-z0-9"), re.ASCII | (re.IGNORECASE if folded else 0))
    found = "".join(one for one in string.printable[:95] if pattern.fullmatch(one))
    if not found:
        raise UnreadableError(f"pattern {part}")
    return found
