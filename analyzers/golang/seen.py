"""What a walk over a Go tree sees: calls, fields that are set, conditions, and where each stands."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from analyzers.golang.grammar import fields
from analyzers.golang.packages import Packages
from analyzers.golang.scopes import Function, Names, Scope

if TYPE_CHECKING:
    from tree_sitter import Node


class Call:
    """One call.

    Attributes:
        node: The call.
        function: What is called, as it is written.
        scope: The block it stands in.
        place: ``statement``, ``go`` or ``defer`` where nothing takes its results.
        name: ``path.Name`` for a package's function, ``.Name`` for a method, else the bare name.
        receiver: What a method is called on.
        sure: False where the text does not say which package this is, and the usual one is assumed.
    """

    __slots__ = ("_arguments", "function", "name", "node", "place", "receiver", "scope", "sure")

    def __init__(self, node: Node, function: Node, scope: Scope, place: str) -> None:
        self.node = node
        self.function = function
        self.scope = scope
        self.place = place
        self.name = ""
        self.receiver: Node | None = None
        self.sure = True
        self._arguments: list[Node] | None = None

    @property
    def arguments(self) -> list[Node]:
        """What it is given, without comments."""
        found = self._arguments
        if found is None:
            listed = self.node.child_by_field_id(fields().arguments)
            found = [] if listed is None else [item for item in listed.named_children if item.type != "comment"]
            self._arguments = found
        return found


@dataclass(slots=True, eq=False)
class FieldSet:
    """``operand.field = value``, or a call that was given the field's address."""

    node: Node
    operand: Node
    value: Node
    start: int
    scope: Scope
    filled: bool = False


@dataclass(slots=True, eq=False)
class Branch:
    """A condition on which something is done or left: what may be a check of a value before its use."""

    node: Node
    scope: Scope


@dataclass(slots=True)
class Seen:
    """What the walk saw, in the text's order."""

    packages: Packages = field(default_factory=Packages)
    names: Names = field(default_factory=Names)
    imports: list[tuple[str, Node]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    literals: list[tuple[Node, Scope]] = field(default_factory=list)
    """Composite literals."""
    functions: dict[str, list[Function]] = field(default_factory=lambda: defaultdict(list))
    function_of: dict[int, Function] = field(default_factory=dict)
    """Function literals by the id of their node."""
    types: dict[str, Node] = field(default_factory=dict)
    field_sets: dict[str, list[FieldSet]] = field(default_factory=lambda: defaultdict(list))
    branches: list[Branch] = field(default_factory=list)
    loops: list[tuple[Node, Scope]] = field(default_factory=list)
    goroutines: list[tuple[Node, Scope]] = field(default_factory=list)
    subscripts: list[tuple[Node, Scope]] = field(default_factory=list)
    comments: list[Node] = field(default_factory=list)
    cut_at: int = 0
    """Line from which on nothing was seen, because there was no time; 0 if all was."""
