"""One parse and one walk of a Python source, for every rule. Nothing recurses: depth is the text's choice."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TypeVar

from analyzers.model import ParseError, Span
from analyzers.python.names import Names
from analyzers.quiet import no_warnings
from analyzers.source import Source

Node = TypeVar("Node", bound=ast.AST)

# The parser hands out one shared object for each of these, so they have no place and no parent.
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class Tree:
    """A parsed source: every node in source order, its parent, and what its names mean."""

    def __init__(self, source: Source, module: ast.Module) -> None:
        self.source = source
        self.module = module
        self.nodes: list[ast.AST] = []
        self.parents: list[ast.AST | None] = []
        self._by_type: dict[type[ast.AST], list[ast.AST]] = {}
        self._walk()

    def _walk(self) -> None:
        stack: list[tuple[ast.AST, ast.AST | None]] = [(self.module, None)]
        nodes, parents, by_type = self.nodes, self.parents, self._by_type
        while stack:
            node, parent = stack.pop()
            nodes.append(node)
            parents.append(parent)
            by_type.setdefault(type(node), []).append(node)
            children: list[tuple[ast.AST, ast.AST | None]] = []
            for field in node._fields:
                value = getattr(node, field, None)
                if isinstance(value, list):
                    children += [(item, node) for item in value if isinstance(item, ast.AST)]
                elif isinstance(value, ast.AST) and not isinstance(value, _SHARED):
                    children.append((value, node))
            stack += reversed(children)

    def all(self, kind: type[Node]) -> list[Node]:
        """Every node of exactly this type, in source order."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    @cached_property
    def names(self) -> Names:
        """What the names of this source stand for."""
        return Names(self.module)

    def span(self, node: ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword | ast.alias) -> Span:
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
        for node in self.nodes:
            if isinstance(node, (ast.stmt, ast.excepthandler)):
                first, last = header_lines(node)
                for line in range(first, last + 1):
                    lines[line] = (first, last)
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


def parse(source: Source) -> Tree | ParseError:
    """Parse, or say why not. Whatever the text is, this returns."""
    try:
        with no_warnings():
            module = ast.parse(source.text)
        return Tree(source, module)
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
