"""Where the names of one Go text are given values, and which of these reach a place in it.

An approximation that needs no types: a name's declaration is the innermost one around the place, and the values that
reach the place are the last one set in a block around it and all those set since in blocks beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_REACHING = 16


class How(Enum):
    """In which way a name gets a value."""

    SET = 1
    """The value of an expression, or one of several that it has."""
    ADDED = 2
    """``+=``: the value before with another behind it."""
    ELEMENT = 3
    """An element of what is ranged over."""
    KEY = 4
    """An index or key of what is ranged over."""
    PARAMETER = 5
    FILLED = 6
    """By a call that was given its address, such as ``Scan(&x)``."""
    WRITTEN = 7
    """By a method that adds to it, such as ``WriteString``."""
    NONE = 8
    """Declared without a value."""


@dataclass(slots=True, eq=False)
class Function:
    """A function, method or function literal of the text."""

    name: str
    node: Node
    start: int
    end: int
    receiver: str = ""
    parameters: list[tuple[str, Node | None]] = field(default_factory=list)
    """Names and types, without the receiver's; a name is empty where none is given."""
    result: Node | None = None
    returns: list[Node] = field(default_factory=list)
    outer: Function | None = None


@dataclass(slots=True, eq=False)
class Scope:
    """A block, or what acts as one: the header of an ``if`` belongs to it with all its branches."""

    start: int
    end: int
    outer: Scope | None
    function: Function | None


@dataclass(slots=True, eq=False)
class Definition:
    """One place that gives a name a value."""

    name: str
    start: int
    scope: Scope
    how: How
    declares: bool
    value: Node | None = None
    index: int = -1
    """Which of several results of ``value``; -1 is all of it."""
    type: Node | None = None
    constant: bool = False


class Names:
    """Every definition of a text, by name. A definition starts where its value has been evaluated."""

    def __init__(self) -> None:
        self._definitions: dict[str, list[Definition]] = defaultdict(list)
        self.functions: list[Function] = []

    def add(self, definition: Definition) -> None:
        """Take note of a definition."""
        self._definitions[definition.name].append(definition)

    def sort(self) -> None:
        """Put everything into the text's order, once all of it is there."""
        for definitions in self._definitions.values():
            if len(definitions) > 1:
                definitions.sort(key=_start)

    def __contains__(self, name: str) -> bool:
        return name in self._definitions

    def all(self, name: str) -> list[Definition]:
        """Every definition of a name, wherever it is visible."""
        return self._definitions.get(name, [])

    def declaration(self, name: str, at: int) -> Definition | None:
        """What ``name`` at this place of the text was declared as, if the text declares it."""
        found: Definition | None = None
        for definition in self._definitions.get(name, ()):
            scope = definition.scope
            if (
                definition.declares
                and scope.start <= at < scope.end
                and (definition.start <= at or scope.outer is None)
                and (found is None or scope.start >= found.scope.start)
            ):
                found = definition
        return found

    def reaching(self, name: str, at: int) -> list[Definition]:
        """Which definitions ``name`` may have its value from at this place, the latest first."""
        definitions = self._definitions.get(name)
        if not definitions:
            return []
        if len(definitions) == 1:
            only = definitions[0]
            return definitions if only.scope.outer is None or only.scope.start <= at < only.scope.end else []
        declaration = self.declaration(name, at)
        found: list[Definition] = []
        for definition in reversed(definitions):
            if definition.start >= at or not self._same(definition, declaration):
                continue
            found.append(definition)
            if len(found) >= _MAX_REACHING:
                return found
            if self._settles(definition, at):
                break
        else:
            # Declared below, as package variables may be.
            if declaration is not None and declaration not in found:
                found.append(declaration)
        if declaration is not None and declaration.scope.outer is None and not declaration.constant:
            found += list(self._elsewhere(definitions, declaration, at, found))
        return found[:_MAX_REACHING]

    def _same(self, definition: Definition, declaration: Definition | None) -> bool:
        """Whether this definition is of the variable that was declared there."""
        if definition is declaration:
            return True
        if definition.declares:
            # Two declarations in one block are one variable: ``:=`` sets again what is there already.
            return declaration is None or definition.scope is declaration.scope
        return self.declaration(definition.name, definition.start) is declaration

    def _elsewhere(
        self, definitions: list[Definition], declaration: Definition, at: int, found: list[Definition]
    ) -> Iterator[Definition]:
        """What other functions set a package's variable to."""
        for definition in definitions:
            function = definition.scope.function
            elsewhere = function is not None and not function.start <= at < function.end
            if elsewhere and definition not in found and self._same(definition, declaration):
                yield definition

    def _settles(self, definition: Definition, at: int) -> bool:
        """Whether no earlier definition matters: this one is always met on the way to the place."""
        if definition.how is How.WRITTEN:
            return False
        scope = definition.scope
        if scope.outer is None:
            # Statements of a snippet that stand in no function follow each other; a package's variables do not.
            return not any(function.start <= at < function.end for function in self.functions)
        return scope.start <= at < scope.end


def _start(definition: Definition) -> int:
    return definition.start
