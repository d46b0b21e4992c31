"""Which modules a source imports that are not Python's own."""

from __future__ import annotations

import ast
import sys

from analyzers.looking import Import
from analyzers.python.tree import Placed, Tree

_STANDARD = sys.stdlib_module_names
_Found = tuple[str, Placed, ast.stmt]
_MISSED = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def imported(tree: Tree) -> list[Import]:
    """Give every import of what is not standard, in no particular order."""
    plain: list[_Found] = [(alias.name, alias, node) for node in tree.all(ast.Import) for alias in node.names]
    from_: list[_Found] = [
        (node.module, node, node) for node in tree.all(ast.ImportFrom) if node.module and not node.level
    ]
    found = [
        (top, place, node)
        for name, place, node in (*plain, *from_)
        if (top := name.partition(".")[0]) not in _STANDARD
    ]  # fmt: skip
    if not found:
        return []
    guarded = _guarded(tree)
    return [Import(top, tree.span(place), node in guarded) for top, place, node in found]


def _guarded(tree: Tree) -> set[ast.AST]:
    """Imports that are tried, and those that are made where another failed."""
    found: set[ast.AST] = set()
    for node in tree.all(ast.Try):
        if any(_catches(handler) for handler in node.handlers):
            found.update(node.body)
            for handler in node.handlers:
                found.update(handler.body)
    return found


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in _MISSED) for kind in kinds)
