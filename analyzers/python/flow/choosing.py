"""Chooses what to go through: where a source and a sink may meet, or a check may clear a finding."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from analyzers.named import NamedTuple
from analyzers.python.flow.entries import Entry, entry_of, is_handler
from analyzers.python.flow.gate import HINTS
from analyzers.python.flow.sinks import FUNCTIONS, METHODS, WORDS
from analyzers.python.flow.values import PARAMETER
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from analyzers.python.flow.entries import Function

_KINDS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FEARED = frozenset({"xpath", "ldap", "template"})
"""Sinks that are told of where a parameter reaches them."""
_CHECKS = ("environ", "getenv", "if ", "assert ", "match ", " int(", "(int(", "float(", "UUID(")
_NEEDED = {
    "page": ("wfile", "tornado"),
    "upload": (".files", "FILES"),
    **dict.fromkeys(("log", "logger", "regex", "attribute"), ("flask", "django", "fastapi", "aiohttp", "request.")),
    "etree": ("etree",),
    "pathlib": ("pathlib", "Path("),
}
_MOST_LINES = 400


class Way(NamedTuple):
    """A function that may be entered from outside."""

    node: Function
    scope: Scope
    owner: ast.ClassDef | None
    entry: Entry

    @property
    def called_as(self) -> str:
        """How a call of it reads: a method with a dot before its name, a constructor by its class."""
        if self.owner is None:
            return self.node.name
        return self.owner.name if self.node.name == "__init__" else f".{self.node.name}"


class Chosen(NamedTuple):
    """What is gone through: the module's own statements or not, and these functions, in this order."""

    module: bool
    ways: tuple[Way, ...]
    called: frozenset[str]


class _Facts:
    """What is known of each function, and of the module as None, before anything is followed."""

    def __init__(self, tree: Tree) -> None:
        self.calls: dict[ast.AST | None, set[str]] = {}
        self.sinks: set[ast.AST | None] = set()
        self.feared: set[ast.AST | None] = set()
        self.called: set[str] = set()
        around: dict[ast.AST, ast.AST | None] = {}
        for call, scope in tree.by_kind.get(ast.Call, ()):
            node = scope.node
            if node not in around:
                around[node] = function_around(scope)
            place = around[node]
            function = call.func
            word = function.attr if function.__class__ is ast.Attribute else getattr(function, "id", "")
            known = self.calls.get(place)
            if known is None:
                known = self.calls[place] = set()
            known.add(f".{word}" if function.__class__ is ast.Attribute else word)
            if word in WORDS:
                self._sink(word, function, place, scope)
        self.called = set().union(*self.calls.values()) if self.calls else set()

    def _sink(self, word: str, function: ast.expr, place: ast.AST | None, scope: Scope) -> None:
        for name in origins(function, scope):
            sink = FUNCTIONS.get(name)
            if sink is not None and self._can_be(sink.kind, scope.tree):
                self.sinks.add(place)
                if sink.kind in _FEARED:
                    self.feared.add(place)
                return
        sink = METHODS.get(word)
        if (
            sink is not None
            and self._can_be(sink.kind, scope.tree)
            and (not sink.needs or any(scope.tree.imports(one) for one in sink.needs))
        ):
            self.sinks.add(place)
            if sink.kind in _FEARED:
                self.feared.add(place)

    @staticmethod
    def _can_be(kind: str, tree: Tree) -> bool:
        """Whether a method of a common name can be a sink in this text at all."""
        needed = _NEEDED.get(kind)
        return needed is None or any(word in tree.source.text for word in needed)


def function_around(scope: Scope) -> ast.AST | None:
    """The function whose code this scope belongs to; None for the module's own."""
    at: Scope | None = scope
    while at is not None:
        if at.node.__class__ in _KINDS:
            return at.node
        at = at.parent
    return None


def choose(tree: Tree, lines: Iterable[int]) -> Chosen:
    """Choose what to go through. ``lines`` are those of findings that it may clear."""
    facts = _Facts(tree)
    weighed = sorted(lines)
    ways: list[Way] = []
    for kind in _KINDS:
        for node, scope in tree.by_kind.get(kind, ()):
            owner = scope.node if scope.node.__class__ is ast.ClassDef else None
            ways.append(Way(node, scope, owner, entry_of(node, scope, owner)))
    own = _own_text(tree)
    # What the lines under ``if __name__`` bind is handed to functions, and seldom read by them as it is.
    lasting = own.partition("if __name__")[0]
    is_global = any(hint in lasting for hint in HINTS)
    bearing: set[ast.AST | None] = {None} if any(hint in own for hint in HINTS) else set()
    texts = {way.node: _text(tree, way.node) for way in ways}
    for way in ways:
        if (
            way.entry.level > PARAMETER
            or is_handler(way.owner, way.scope)
            or any(hint in texts[way.node] for hint in HINTS)
        ):
            bearing.add(way.node)
    leading = _callers(
        facts, ways, {way.node for way in ways if way.node in facts.sinks or way.entry.page or _stores(texts[way.node])}
    )
    bearing |= _callers(facts, ways, bearing)
    classes = {way.owner for way in ways if way.owner is not None and way.node in bearing}
    found = []
    for way in ways:
        node = way.node
        if (
            (node in leading and (is_global or node in bearing or way.owner in classes or _encloses(way, bearing)))
            or node in facts.feared
            or _may_clear(node, weighed, texts[node])
        ):
            found.append(way)
    names = {way.called_as for way in found}
    module = (
        None in facts.sinks
        or _stores(own)
        or (None in bearing and bool(facts.sinks))
        or not names.isdisjoint(facts.calls.get(None, ()))
        or any(_is_own(line, ways) for line in weighed)
    )
    called = frozenset(facts.called)
    found.sort(key=lambda way: (way.entry.level == PARAMETER, way.called_as in called, way.node.lineno))
    return Chosen(module and bool(own), tuple(found), called)


def _callers(facts: _Facts, ways: list[Way], first: set[ast.AST | None]) -> set[ast.AST | None]:
    """Functions, and everything that calls one of their names, directly or not."""
    found = set(first)
    names = {way.called_as for way in ways if way.node in found}
    while names:
        more = {way for way in ways if way.node not in found and not names.isdisjoint(facts.calls.get(way.node, ()))}
        found |= {way.node for way in more}
        names = {way.called_as for way in more}
    return found


def _encloses(way: Way, bearing: set[ast.AST | None]) -> bool:
    around = function_around(way.scope)
    return around is not None and around in bearing


def _may_clear(node: Function, lines: list[int], text: str) -> bool:
    end = node.end_lineno or node.lineno
    return any(node.lineno <= line <= end for line in lines) and any(check in text for check in _CHECKS)


def _is_own(line: int, ways: list[Way]) -> bool:
    return not any(way.node.lineno <= line <= (way.node.end_lineno or way.node.lineno) for way in ways)


def _stores(text: str) -> bool:
    return "session[" in text or "headers[" in text


def _text(tree: Tree, node: ast.stmt) -> str:
    lines = tree.source.lines[node.lineno - 1 : min(node.end_lineno or node.lineno, node.lineno + _MOST_LINES)]
    return "\n".join(lines)


def _own_text(tree: Tree) -> str:
    """The statements of the module itself, without functions, classes and imports."""
    return "\n".join(_text(tree, one) for one in tree.module.body if one.__class__ not in _LEFT_OUT)


_LEFT_OUT = frozenset({*_KINDS, ast.ClassDef, ast.Import, ast.ImportFrom})
