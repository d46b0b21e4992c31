"""The scopes of a Python module, and what binds which name in each of them.

A scope is a module, class, function, lambda or comprehension. A name belongs to the innermost scope that binds it
anywhere, class scopes are invisible from the functions inside them, and ``global`` and ``nonlocal`` are followed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from analyzers.named import NamedTuple
from analyzers.rule import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from analyzers.model import Confidence, Severity
    from analyzers.python.tree import Placed, Tree


class Binding(NamedTuple):
    """One place that gives a name a meaning.

    ``value`` is a dotted name for an import, an expression for an assignment or ``with`` (read in ``scope``), the node
    itself for a parameter, function, class, loop, unpacking or operation in place, and None where nobody can know.
    """

    value: str | ast.AST | None
    scope: Scope
    node: ast.AST


_new: Callable[[type[Binding], tuple[object, ...]], Binding] = tuple.__new__


class Scope:
    """One scope.

    Attributes:
        node: The module, class, function, lambda or comprehension.
        bound: What binds each name here, in the order of the text.
        attributes: In a class, what ``self.name = value`` binds in its methods.
        elsewhere: The names that this scope declares to belong to another.
        deleted: The names that are deleted somewhere in it.
        returns: What a function returns.
        known: Origins that were looked up before; :mod:`analyzers.python.names` fills it.
    """

    __slots__ = (
        "attributes", "bound", "deleted", "elsewhere", "known", "node", "parent", "returns", "tree", "unconditional"
    )  # fmt: skip

    def __init__(self, tree: Tree, node: ast.AST, parent: Scope | None) -> None:
        self.tree = tree
        self.node = node
        self.parent = parent
        self.bound: dict[str, list[Binding]] = {}
        self.attributes: dict[str, list[Binding]] = {}
        self.elsewhere: dict[str, Scope] = {}
        self.deleted: set[str] = set()
        self.returns: list[ast.expr] = []
        self.known: dict[str, tuple[str, ...]] = {}
        self.unconditional: frozenset[ast.AST] | None = None

    def owner(self, name: str) -> Scope | None:
        """Find the scope that binds the name, as seen from here."""
        at: Scope | None = self
        while at is not None:
            if name in at.elsewhere:
                at = at.elsewhere[name]
                return at if name in at.bound else None
            if name in at.bound and (at is self or at.node.__class__ is not ast.ClassDef):
                return at
            at = at.parent
        return None

    def bindings(self, name: str) -> list[Binding]:
        """Give all that may bind the name, as seen from here; none for a builtin or a name that is never bound."""
        owner = self.owner(name)
        return [] if owner is None else owner.bound[name]

    def enclosing_class(self) -> Scope | None:
        """Find the class whose method this scope is in."""
        at: Scope | None = self
        while at is not None and at.node.__class__ is not ast.ClassDef:
            at = at.parent
        return at

    def hit(
        self,
        node: Placed,
        message: str,
        *,
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        also: tuple[str, ...] | None = None,
        cwe: int | None = None,
    ) -> Hit:
        """Say that a rule saw something at a node; what is left out is as the rule says in general."""
        span = self.tree.span(node)
        return Hit(span, message, also, confidence, None, None, severity, cwe)

    def default(self, argument: ast.arg) -> ast.expr | None:
        """Give the default of a parameter of this function; it is read in the scope around."""
        arguments: ast.arguments = self.node.args  # type: ignore[attr-defined]
        positional = [*arguments.posonlyargs, *arguments.args]
        for one, value in zip(reversed(positional), reversed(arguments.defaults), strict=False):
            if one is argument:
                return value
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if one is argument:
                return default
        return None

    def holds(self, node: ast.AST) -> bool:
        """Whether this is a statement of the scope's own body, so that it runs whenever the body does."""
        if self.unconditional is None:
            body = getattr(self.node, "body", ())
            self.unconditional = frozenset(body if isinstance(body, list) else ())
        return node in self.unconditional

    def bind(self, name: str, value: str | ast.AST | None, node: ast.AST) -> None:
        """Add a binding, to the scope that the name was declared to belong to."""
        owner = self.elsewhere.get(name, self) if self.elsewhere else self
        # A named tuple's own constructor takes three times as long, and nearly every statement comes here.
        binding: Binding = _new(Binding, (value, self, node))
        known = owner.bound.get(name)
        if known is None:
            owner.bound[name] = [binding]
        else:
            known.append(binding)

    def bind_target(self, target: ast.expr, value: ast.AST, node: ast.AST) -> None:
        """Bind every name that giving this value to this target gives a meaning."""
        if target.__class__ is ast.Name:
            self.bind(target.id, value, node)
            return
        stack: list[tuple[ast.expr, ast.AST]] = [(target, value)]
        while stack:
            target, given = stack.pop()
            match target:
                case ast.Name():
                    self.bind(target.id, given, node)
                case ast.Attribute(value=ast.Name(id="self" | "cls")):
                    owner = self.enclosing_class()
                    if owner is not None:
                        owner.attributes.setdefault(target.attr, []).append(Binding(given, self, node))
                case ast.Tuple() | ast.List():
                    match given:
                        case ast.Tuple(elts=items) | ast.List(elts=items) if len(items) == len(target.elts):
                            stack += zip(target.elts, items, strict=True)
                        case _:
                            stack += [(item, node) for item in target.elts]
                case ast.Starred():
                    stack.append((target.value, node))
                case _:
                    pass
