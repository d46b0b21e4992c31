"""The scopes of a Python module, and what binds which name in each of them.

A scope is a module, class, function, lambda or comprehension. A name belongs to the innermost scope that binds it
anywhere, class scopes are invisible from the functions inside them, and ``global`` and ``nonlocal`` are followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPED = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef, ast.NamedExpr)
_BINDING = (
    ast.Name, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Import, ast.ImportFrom, ast.FunctionDef,
    ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.ExceptHandler, ast.MatchAs, ast.MatchStar,
    ast.MatchMapping, ast.For, ast.AsyncFor,
)  # fmt: skip
_LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.boolop)


@dataclass(slots=True, eq=False)
class Scope:
    """One scope. ``elsewhere`` holds the names that it declares to belong to another."""

    parent: Scope | None
    is_class: bool = False
    is_comprehension: bool = False
    bound: dict[str, list[Binding]] = field(default_factory=dict)
    elsewhere: dict[str, Scope] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Binding:
    """``origin`` for an import, ``value`` for an assignment (read in ``scope``), neither where nobody can know.

    On the lines from ``since`` to ``until`` of its scope the name is certainly bound; None where that hangs on a
    condition.
    """

    origin: str | None = None
    value: ast.expr | None = None
    scope: Scope | None = None
    since: int | None = None
    until: int | None = None


class Scopes:
    """Which scope every node of a module is in; each knows what it binds."""

    def __init__(self, module: ast.Module) -> None:
        self._module_scope = Scope(None)
        self._scope_of: dict[ast.AST, Scope] = {}
        self._unconditional: set[ast.AST] = set(module.body)
        self._fill(module)

    def of(self, node: ast.AST) -> Scope:
        """Return the scope in which a node is evaluated."""
        return self._scope_of.get(node, self._module_scope)

    def _fill(self, module: ast.Module) -> None:
        stack: list[tuple[ast.AST, Scope]] = [(module, self._module_scope)]
        while stack:
            node, scope = stack.pop()
            if scope is not self._module_scope:
                self._scope_of[node] = scope
            if isinstance(node, _BINDING):
                self._bind(node, scope)
            if isinstance(node, _SCOPED):
                stack.extend(reversed(list(self._children(node, scope))))
                continue
            children: list[tuple[ast.AST, Scope]] = []
            for name in node._fields:
                value = getattr(node, name, None)
                if isinstance(value, list):
                    children += [(item, scope) for item in value if isinstance(item, ast.AST)]
                elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                    children.append((value, scope))
            stack += reversed(children)

    def _children(  # noqa: C901 - one case per kind of scope
        self, node: ast.AST, scope: Scope
    ) -> Iterator[tuple[ast.AST, Scope]]:
        """Yield the parts of a node with the scope in which each is evaluated."""
        if isinstance(node, _FUNCTIONS):
            inner = Scope(scope)
            arguments = node.args
            positional = [*arguments.posonlyargs, *arguments.args]
            defaults = dict(zip(reversed(positional), reversed(arguments.defaults), strict=False))
            keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            defaults |= {argument: value for argument, value in keyword_only if value}
            everything = [*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            for argument in filter(None, everything):
                _add(inner, argument.arg, Binding(value=defaults.get(argument), scope=scope, since=0))
                if argument.annotation:
                    yield argument.annotation, scope
            for default in defaults.values():
                yield default, scope
            for outside in (*getattr(node, "decorator_list", ()), getattr(node, "returns", None)):
                if outside is not None:
                    yield outside, scope
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            self._unconditional.update(body)
            yield from ((part, inner) for part in body)
        elif isinstance(node, ast.ClassDef):
            inner = Scope(scope, is_class=True)
            yield from ((part, scope) for part in (*node.decorator_list, *node.bases, *node.keywords))
            self._unconditional.update(node.body)
            yield from ((part, inner) for part in node.body)
        elif isinstance(node, _COMPREHENSIONS):
            inner = Scope(scope, is_comprehension=True)
            for index, generator in enumerate(node.generators):
                yield generator.iter, scope if index == 0 else inner
                yield generator.target, inner
                yield from ((part, inner) for part in generator.ifs)
            parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
            yield from ((part, inner) for part in parts)
        elif isinstance(node, ast.NamedExpr):
            yield node.value, scope  # the target was bound outside the comprehension it may stand in

    def _bind(self, node: ast.AST, scope: Scope) -> None:  # noqa: C901, PLR0912 - one case per way to bind a name
        since = getattr(node, "lineno", None) if node in self._unconditional else None
        match node:
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.split(".")[0]
                    _add(scope, name, Binding(origin=alias.name if alias.asname else name, since=since))
            case ast.ImportFrom():
                for alias in node.names:
                    origin = f"{'.' * node.level}{node.module or ''}.{alias.name}"
                    _add(scope, alias.asname or alias.name, Binding(origin=origin, since=since))
            case ast.Assign():
                for target in node.targets:
                    _assign(scope, target, node.value, since)
            case ast.AnnAssign() if node.value:
                _assign(scope, node.target, node.value, since)
            case ast.NamedExpr():
                _assign(_not_comprehension(scope), node.target, node.value)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                _add(scope, node.name, Binding(since=since))
            case ast.For(target=ast.Name(id=name)) | ast.AsyncFor(target=ast.Name(id=name)):
                # Only inside the loop: it may have no turn at all.
                _add(scope, name, Binding(since=node.lineno, until=node.body[-1].end_lineno))
            case ast.Global():
                scope.elsewhere.update(dict.fromkeys(node.names, self._module_scope))
            case ast.Nonlocal():
                for name in node.names:
                    outer = scope.parent
                    while outer is not None and (outer.is_class or name not in outer.bound):
                        outer = outer.parent
                    if outer is not None:
                        scope.elsewhere[name] = outer
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                if node.name:
                    _add(scope, node.name, Binding())
            case ast.MatchMapping():
                if node.rest:
                    _add(scope, node.rest, Binding())
            case ast.Name(ctx=ast.Store()):
                # Assignments were bound with their value above; what is left are loops, with, del and unpacking.
                if node.id not in scope.elsewhere.get(node.id, scope).bound:
                    _add(scope, node.id, Binding(since=0 if scope.is_comprehension else None))
            case ast.Name(ctx=ast.Del()):
                scope.elsewhere.get(node.id, scope).deleted.add(node.id)
            case _:
                pass


def owner_of(scope: Scope, name: str) -> Scope | None:
    """Find the scope that binds the name, as seen from ``scope``."""
    at: Scope | None = scope
    while at is not None:
        if name in at.elsewhere:
            at = at.elsewhere[name]
            return at if name in at.bound else None
        if name in at.bound and (at is scope or not at.is_class):
            return at
        at = at.parent
    return None


def _not_comprehension(scope: Scope) -> Scope:
    while scope.is_comprehension and scope.parent is not None:
        scope = scope.parent
    return scope


def _add(scope: Scope, name: str, binding: Binding) -> None:
    owner = scope.elsewhere.get(name, scope)
    if owner is not scope:
        binding.since = None  # whether the function that says ``global`` was ever called is not known
    owner.bound.setdefault(name, []).append(binding)


def _assign(scope: Scope, target: ast.expr, value: ast.expr, since: int | None = None) -> None:
    stack = [(target, value)]
    while stack:
        target, value = stack.pop()
        if isinstance(target, ast.Name):
            _add(scope, target.id, Binding(value=value, scope=scope, since=since))
        elif (
            isinstance(target, (ast.Tuple, ast.List))
            and isinstance(value, (ast.Tuple, ast.List))
            and len(target.elts) == len(value.elts)
        ):
            stack += zip(target.elts, value.elts, strict=True)
