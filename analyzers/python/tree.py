"""One parse and one walk of a Python source, for every rule. Nothing recurses: depth is the text's choice."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property

from analyzers.capabilities import Wanted
from analyzers.model import ParseError, Span
from analyzers.python.entering import ENTRANCES, PARTS
from analyzers.python.scopes import Scope
from analyzers.quiet import no_warnings
from analyzers.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Node = TypeVar("Node", bound=ast.AST)
Placed = ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword | ast.alias

_ALWAYS = (
    ast.Call, ast.Constant, ast.Assign, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.ClassDef, ast.Try,
)  # fmt: skip


class Tree:
    """A parsed source: nodes by their class with the scope each is read in, and what binds which name.

    Attributes:
        by_kind: Nodes of the classes that somebody wants to see, with their scopes, nearly in the order of the text.
            Of constants only texts.
        mentions: The names and attributes that are read and whose last word was asked for.
        modules: What is imported anywhere in the source, as full dotted names.
        covered: Nodes that a rule spoke about as parts of another, so that it does not speak of them again.
        stars: Modules of which ``import *`` brings every name.
        wanted: What the code would do, and ``commands`` its calls that start processes; ``wants`` fills both.
    """

    def __init__(
        self,
        source: Source,
        module: ast.Module,
        watched: frozenset[str] = frozenset(),
        kinds: Iterable[type[ast.AST]] = (),
    ) -> None:
        """Walk a module. ``watched`` are last words whose mentions are wanted, ``kinds`` classes of nodes."""
        self.source = source
        self.module = module
        self.scope = Scope(self, module, None)
        self.by_kind: dict[type[ast.AST], list[tuple[Any, Scope]]] = {kind: [] for kind in (*_ALWAYS, *kinds)}
        self.mentions: list[tuple[ast.Name | ast.Attribute, Scope]] = []
        self.modules: set[str] = set()
        self.stars: list[str] = []
        self.covered: set[ast.AST] = set()
        self.wanted: list[Wanted] = []
        self.commands: list[tuple[ast.Call, Scope]] = []
        self._pending: list[tuple[list[Any], Scope]] = [(module.body[::-1], self.scope)]
        self._inner: dict[ast.AST, Scope] = {}
        self._watched = set(watched)
        self._walk()

    def _walk(self) -> None:
        by_kind, mentions, watched, pending = self.by_kind, self.mentions, self._watched, self._pending
        name_kind, attribute_kind, constant_kind, load = ast.Name, ast.Attribute, ast.Constant, ast.Load
        entrance_of, parts_of = ENTRANCES.get, PARTS.get
        while pending:
            stack, scope = pending.pop()
            pop, push = stack.pop, stack.append
            while stack:
                node = pop()
                kind = node.__class__
                if kind is name_kind:
                    if node.id in watched and node.ctx.__class__ is load:
                        mentions.append((node, scope))
                    continue
                if kind is attribute_kind:
                    if node.attr in watched:
                        mentions.append((node, scope))
                    push(node.value)
                    continue
                if kind is constant_kind:
                    if node.value.__class__ is not str:
                        continue
                elif node is None:
                    continue
                listed = by_kind.get(kind)
                if listed is not None:
                    listed.append((node, scope))
                enter = entrance_of(kind)
                if enter is not None:
                    enter(self, node, scope, stack)
                for part in parts_of(kind, ()):
                    value = getattr(node, part)
                    if value.__class__ is list:
                        stack += value[::-1]
                    elif value is not None:
                        push(value)

    def open(self, node: ast.AST, scope: Scope, body: list[Any]) -> Scope:
        """Begin a scope below another; what is in it is walked later."""
        inner = Scope(self, node, scope)
        self._inner[node] = inner
        self._pending.append((body[::-1], inner))
        return inner

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Every scope of the source."""
        return (self.scope, *self._inner.values())

    def imports(self, package: str) -> bool:
        """Whether a package or anything in it is imported anywhere in the source."""
        return any(name == package or name.startswith(f"{package}.") for name in self.modules)

    def release(self) -> None:
        """Take the tree apart, so that its memory is free at once: scopes, bindings and tree hold one another.

        Waiting for the garbage collector costs half as much again as all the rules do, and keeps megabytes meanwhile.
        """
        for scope in self.scopes:
            scope.bound.clear()
            scope.attributes.clear()
            scope.elsewhere.clear()
            scope.parent = None
            del scope.tree
        self._inner.clear()
        self.by_kind.clear()
        self.mentions.clear()

    def scope_of(self, node: ast.AST) -> Scope | None:
        """Find the scope that a function, class, lambda or comprehension makes."""
        return self._inner.get(node)

    def watch(self, name: str, original: str) -> None:
        """Let a name that stands for a watched one be watched too."""
        if original in self._watched:
            self._watched.add(name)

    def all(self, kind: type[Node]) -> list[Node]:
        """Every node of exactly this class, nearly in the order of the text, if such nodes were asked for."""
        return [node for node, _ in self.by_kind.get(kind, ())]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node. Made when first asked for: few texts need it."""
        parents: dict[ast.AST, ast.AST] = {}
        stack: list[ast.AST] = [self.module]
        while stack:
            node = stack.pop()
            children = list(ast.iter_child_nodes(node))
            parents.update(dict.fromkeys(children, node))
            stack += children
        return parents

    def span(self, node: Placed) -> Span:
        """Where a node stands."""
        return self.source.span(
            node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        )

    @cached_property
    def handlers(self) -> dict[tuple[int, int], ast.ExceptHandler]:
        """Every ``except`` by its line and column."""
        return {
            (node.lineno, self.source.column(node.lineno, node.col_offset)): node
            for node in self.all(ast.ExceptHandler)
        }

    @cached_property
    def statement_lines(self) -> dict[int, tuple[int, int]]:
        """First and last line of the innermost statement (of its header, if it has a body) for each line."""
        lines: dict[int, tuple[int, int]] = {}
        stack: list[ast.AST] = [*reversed(self.module.body)]
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.stmt, ast.excepthandler)):
                first, last = header_lines(node)
                for line in range(first, last + 1):
                    lines[line] = (first, last)
            for part in ("finalbody", "orelse", "handlers", "cases", "body"):
                inner = getattr(node, part, None)
                if isinstance(inner, list):
                    stack += reversed(inner)
        return lines


def header_lines(node: ast.stmt | ast.excepthandler) -> tuple[int, int]:
    """First and last line of a statement; of one with a body, only of what stands before the body."""
    last = node.end_lineno or node.lineno
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        last = max(node.lineno, min(last, body[0].lineno - 1))
    decorators = getattr(node, "decorator_list", None)
    first = min([node.lineno, *(decorator.lineno for decorator in decorators or ())])
    return first, last


def parse(source: Source, text: str) -> ast.Module | ParseError:
    """Parse a text, or say why not. Whatever the text is, this returns."""
    try:
        with no_warnings():
            return ast.parse(text)
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), len(source.lines))
        column = min(max(error.offset or 1, 1), len(source.lines[line - 1]) + 1)
        return ParseError(line, column, error.msg or "not Python")
    except RecursionError:
        return ParseError(1, 1, "nested too deeply to parse")
    except MemoryError:
        return ParseError(1, 1, "too large or nested too deeply to parse")
    except (ValueError, OverflowError) as error:
        return ParseError(1, 1, str(error)[:200] or "not Python")
