"""Tree-sitter behind a budget of bytes, nesting and time: text to a tree that marks what it did not understand."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from analyzers.deadline import Deadline

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_BYTES = 2 << 20
"""More is not parsed: tree-sitter takes up to two seconds and 300 MB for a megabyte of the worst text."""
MAX_NESTING = 10_000
"""Open brackets within each other. The parser itself bears more; whoever walks its tree should not have to."""
MAX_SECONDS = 5.0
"""What one parse may take where the caller gave no deadline."""
_CHUNK = 1 << 16
_MAX_AT_ONCE = 200_000
_BRACKET = re.compile(rb"[(\[{]|([)\]}])")


class RefusedError(ValueError):
    """The text is over the budget; the text says which."""


class Grammar:
    """A language of tree-sitter, loaded when it is first needed. Any thread may use it."""

    def __init__(self, module: str) -> None:
        """``module`` is the package that holds the grammar, such as ``tree_sitter_go``."""
        self._module = module

    @cached_property
    def language(self) -> Language:
        """The grammar. Raises ImportError where its package is not installed."""
        from tree_sitter import Language  # noqa: PLC0415 - most callers never meet this language

        return Language(importlib.import_module(self._module).language())

    def kinds(self, *names: str) -> list[int]:
        """Return the numbers that named nodes of these types have. Raises KeyError for a type it does not know."""
        found = []
        for name in names:
            number = self.language.id_for_node_kind(name, True)  # noqa: FBT003 - the library's own signature
            if number is None:
                raise KeyError(name)
            found.append(number)
        return found

    def fields(self, *names: str) -> tuple[int, ...]:
        """Return the numbers of fields: asking a node by number takes half the time that asking by name takes."""
        found = tuple(self.language.field_id_for_name(name) or 0 for name in names)
        if not all(found):
            raise KeyError(names)
        return found

    def parse(self, data: bytes, deadline: Deadline) -> Node:
        """Parse, broken text too. Raises RefusedError for what is over the budget, and ImportError."""
        from tree_sitter import Parser  # noqa: PLC0415 - as above

        _vet(data)
        parser = Parser(self.language)
        if len(data) <= _CHUNK:
            return parser.parse(data).root_node
        seconds = min(MAX_SECONDS, deadline.left())
        own = Deadline(seconds)
        try:
            tree = parser.parse(
                lambda at, _: data[at : at + _CHUNK], progress_callback=lambda _at, _error: own.passed()
            )
        except ValueError:
            raise RefusedError("it took too long to parse") from None
        return tree.root_node


def _vet(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise RefusedError(f"larger than {MAX_BYTES} bytes")
    if data.count(b"(") + data.count(b"[") + data.count(b"{") <= MAX_NESTING:
        return
    depth = 0
    for bracket in _BRACKET.finditer(data):
        depth += -1 if bracket[1] else 1
        depth = max(depth, 0)
        if depth > MAX_NESTING:
            raise RefusedError("nested too deeply to parse")


def nodes(root: Node) -> Iterator[Node]:
    """Every named node in the text's order, without recursion.

    Lists of children are quicker, and a cursor holds one node at a time: that is for trees that would fill the memory.
    """
    if root.descendant_count > _MAX_AT_ONCE:
        yield from _one_by_one(root)
        return
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if node.named_child_count:
            stack += node.named_children[::-1]


def _one_by_one(root: Node) -> Iterator[Node]:
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None and node.is_named:
            yield node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def faults(root: Node) -> Iterator[Node]:
    """Every node in which the parser gave up (``ERROR``), and every token it had to make up, in the text's order."""
    if not root.has_error:
        return
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None and node.has_error:
            if node.is_error or node.is_missing:
                yield node
            if cursor.goto_first_child():
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def misread_lines(root: Node) -> list[tuple[int, int]]:
    """First and last line, from 1, of what no rule of the grammar covers.

    What stands whole inside an ``ERROR`` node is understood; the loose tokens between are not.
    """
    lines: set[int] = set()
    for fault in faults(root):
        if fault.is_missing:
            continue
        children = fault.children
        loose = [child for child in children if not child.is_error and (not child.is_named or not child.child_count)]
        for node in loose if children else [fault]:
            lines.update(range(node.start_point[0] + 1, node.end_point[0] + 2))
    return _ranges(sorted(lines))


def _ranges(lines: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for line in lines:
        if ranges and line <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], line)
        else:
            ranges.append((line, line))
    return ranges
