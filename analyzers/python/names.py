"""What a name stands for, as far as reading can tell: an import, a builtin, another name, or something unknown.

The model is simple on purpose. A scope is a module, class, function, lambda or comprehension; a name belongs to the
innermost scope that binds it anywhere (the order of statements is not followed), class scopes are invisible from the
functions inside them, and ``global`` and ``nonlocal`` are followed. A name that nothing binds is a builtin. A name
with several bindings may stand for any of them. ``from x import *``, ``exec`` and attributes set on objects are not
followed.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

_BUILTINS = frozenset(dir(builtins)) | {"__builtins__"}
_MAX_HOPS = 16
_MAX_STEPS = 256
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
class _Scope:
    parent: _Scope | None
    is_class: bool = False
    is_comprehension: bool = False
    bound: dict[str, list[_Binding]] = field(default_factory=dict)
    elsewhere: dict[str, _Scope] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Binding:
    """``origin`` for an import, ``value`` for an assignment (read in ``scope``), neither where nobody can know.

    On the lines from ``since`` to ``until`` of its scope the name is certainly bound; None where that hangs on a
    condition.
    """

    origin: str | None = None
    value: ast.expr | None = None
    scope: _Scope | None = None
    since: int | None = None
    until: int | None = None


class Names:
    """The scopes of one module."""

    def __init__(self, module: ast.Module) -> None:
        self._module_scope = _Scope(None)
        self._scope_of: dict[ast.AST, _Scope] = {}
        self._steps = 0
        self._unconditional: set[ast.AST] = set(module.body)
        self._fill(module)

    def origins(self, node: ast.expr) -> frozenset[str]:
        """Every dotted name the expression may stand for, such as ``builtins.eval``; empty if none is known."""
        scope = self._scope_of.get(node, self._module_scope)
        # Names bound many times to names bound many times would multiply; one question may only cost so much.
        self._steps = _MAX_STEPS
        return frozenset(self._origins(node, scope, _MAX_HOPS))

    def certain(self, node: ast.expr) -> bool:
        """Whether the expression is a name or attribute with one meaning only."""
        if isinstance(node, ast.Name):
            owner = _owner(self._scope_of.get(node, self._module_scope), node.id)
            return owner is None or len(owner.bound[node.id]) == 1
        return isinstance(node, (ast.Attribute, ast.Call, ast.Subscript))

    def hides_builtin(self, node: ast.Name) -> bool:
        """Whether the name is certainly bound where it is read, so that it cannot be the builtin of that name.

        A binding under a condition, further down, or taken back by ``del`` hides nothing for certain.
        """
        scope = self._scope_of.get(node, self._module_scope)
        owner = _owner(scope, node.id)
        if owner is None or node.id in owner.deleted:
            return False
        return any(
            binding.since is not None
            and (owner is not scope or binding.since < node.lineno)
            and (binding.until is None or node.lineno <= binding.until)
            for binding in owner.bound[node.id]
        )

    # --- filling the scopes ------------------------------------------------------------------------------------------

    def _fill(self, module: ast.Module) -> None:
        stack: list[tuple[ast.AST, _Scope]] = [(module, self._module_scope)]
        while stack:
            node, scope = stack.pop()
            if scope is not self._module_scope:
                self._scope_of[node] = scope
            if isinstance(node, _BINDING):
                self._bind(node, scope)
            if isinstance(node, _SCOPED):
                stack.extend(reversed(list(self._children(node, scope))))
                continue
            children: list[tuple[ast.AST, _Scope]] = []
            for name in node._fields:
                value = getattr(node, name, None)
                if isinstance(value, list):
                    children += [(item, scope) for item in value if isinstance(item, ast.AST)]
                elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                    children.append((value, scope))
            stack += reversed(children)

    def _children(  # noqa: C901 - one case per kind of scope
        self, node: ast.AST, scope: _Scope
    ) -> Iterator[tuple[ast.AST, _Scope]]:
        """Yield the parts of a node with the scope in which each is evaluated."""
        if isinstance(node, _FUNCTIONS):
            inner = _Scope(scope)
            arguments = node.args
            positional = [*arguments.posonlyargs, *arguments.args]
            defaults = dict(zip(reversed(positional), reversed(arguments.defaults), strict=False))
            keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            defaults |= {argument: value for argument, value in keyword_only if value}
            everything = [*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            for argument in filter(None, everything):
                _add(inner, argument.arg, _Binding(value=defaults.get(argument), scope=scope, since=0))
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
            inner = _Scope(scope, is_class=True)
            yield from ((part, scope) for part in (*node.decorator_list, *node.bases, *node.keywords))
            self._unconditional.update(node.body)
            yield from ((part, inner) for part in node.body)
        elif isinstance(node, _COMPREHENSIONS):
            inner = _Scope(scope, is_comprehension=True)
            for index, generator in enumerate(node.generators):
                yield generator.iter, scope if index == 0 else inner
                yield generator.target, inner
                yield from ((part, inner) for part in generator.ifs)
            parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
            yield from ((part, inner) for part in parts)
        elif isinstance(node, ast.NamedExpr):
            yield node.value, scope  # the target was bound outside the comprehension it may stand in

    def _bind(self, node: ast.AST, scope: _Scope) -> None:  # noqa: C901, PLR0912 - one case per way to bind a name
        since = getattr(node, "lineno", None) if node in self._unconditional else None
        match node:
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.split(".")[0]
                    _add(scope, name, _Binding(origin=alias.name if alias.asname else name, since=since))
            case ast.ImportFrom():
                for alias in node.names:
                    origin = f"{'.' * node.level}{node.module or ''}.{alias.name}"
                    _add(scope, alias.asname or alias.name, _Binding(origin=origin, since=since))
            case ast.Assign():
                for target in node.targets:
                    _assign(scope, target, node.value, since)
            case ast.AnnAssign() if node.value:
                _assign(scope, node.target, node.value, since)
            case ast.NamedExpr():
                _assign(_not_comprehension(scope), node.target, node.value)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                _add(scope, node.name, _Binding(since=since))
            case ast.For(target=ast.Name(id=name)) | ast.AsyncFor(target=ast.Name(id=name)):
                # Only inside the loop: it may have no turn at all.
                _add(scope, name, _Binding(since=node.lineno, until=node.body[-1].end_lineno))
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
                    _add(scope, node.name, _Binding())
            case ast.MatchMapping():
                if node.rest:
                    _add(scope, node.rest, _Binding())
            case ast.Name(ctx=ast.Store()):
                # Assignments were bound with their value above; what is left are loops, with, del and unpacking.
                if node.id not in scope.elsewhere.get(node.id, scope).bound:
                    _add(scope, node.id, _Binding(since=0 if scope.is_comprehension else None))
            case ast.Name(ctx=ast.Del()):
                scope.elsewhere.get(node.id, scope).deleted.add(node.id)
            case _:
                pass

    # --- reading them ------------------------------------------------------------------------------------------------

    def _origins(self, node: ast.expr, scope: _Scope, hops: int) -> Iterator[str]:  # noqa: C901, PLR0912 - one case per shape
        self._steps -= 1
        if hops == 0 or self._steps < 0:
            return
        match node:
            case ast.Name():
                yield from self._name(node.id, scope, hops)
            case ast.Attribute():
                attributes: list[str] = []
                value: ast.expr = node
                while isinstance(value, ast.Attribute):
                    attributes.append(value.attr)
                    value = value.value
                path = ".".join(reversed(attributes))
                for origin in self._origins(value, scope, hops - 1):
                    yield _member(origin, path)
            case ast.NamedExpr() | ast.Await():
                yield from self._origins(node.value, scope, hops - 1)
            case ast.IfExp():
                yield from self._origins(node.body, scope, hops - 1)
                yield from self._origins(node.orelse, scope, hops - 1)
            case ast.BoolOp():
                for value in node.values:
                    yield from self._origins(value, scope, hops - 1)
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                for origin in self._origins(node.value, scope, hops - 1):
                    if origin in _NAMESPACES:
                        yield _member(_NAMESPACES[origin], key)
            case ast.Call(args=[first, *rest]):
                name = _text(rest[0] if rest else first)
                for origin in self._origins(node.func, scope, hops - 1):
                    if origin == "builtins.getattr" and rest and name:
                        for base in self._origins(first, scope, hops - 1):
                            yield _member(base, name)
                    elif origin in {"builtins.__import__", "importlib.import_module"} and _text(first):
                        yield _text(first)
                    elif origin == "builtins.vars":
                        yield from (f"{base}.__dict__" for base in self._origins(first, scope, hops - 1))
            case ast.Call(args=[]):
                yield from (f"{origin}()" for origin in self._origins(node.func, scope, hops - 1))
            case _:
                pass

    def _name(self, name: str, scope: _Scope, hops: int) -> Iterator[str]:
        if hops == 0:
            return
        owner = _owner(scope, name)
        if owner is None:
            if name == "__builtins__":
                yield "builtins"
            elif name in _BUILTINS:
                yield f"builtins.{name}"
            return
        for binding in owner.bound[name][:_MAX_HOPS]:
            if binding.origin is not None:
                yield binding.origin
            elif binding.value is not None and binding.scope is not None:
                if isinstance(binding.value, ast.Name) and binding.value.id == name and binding.scope is owner:
                    # ``eval = eval``: the right side is what the name meant outside.
                    yield from self._name(name, _Scope(owner.parent), hops - 1)
                else:
                    yield from self._origins(binding.value, binding.scope, hops - 1)


_NAMESPACES = {
    "builtins": "builtins",  # ``__builtins__["eval"]``, in modules that are not __main__
    "builtins.__dict__": "builtins",
    "builtins.globals()": "",
}


def _member(origin: str, path: str) -> str:
    if not origin:
        return "builtins" if path == "__builtins__" else path
    return f"{origin}.{path}"


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _owner(scope: _Scope, name: str) -> _Scope | None:
    """Find the scope that binds the name, as seen from ``scope``."""
    at: _Scope | None = scope
    while at is not None:
        if name in at.elsewhere:
            at = at.elsewhere[name]
            return at if name in at.bound else None
        if name in at.bound and (at is scope or not at.is_class):
            return at
        at = at.parent
    return None


def _not_comprehension(scope: _Scope) -> _Scope:
    while scope.is_comprehension and scope.parent is not None:
        scope = scope.parent
    return scope


def _add(scope: _Scope, name: str, binding: _Binding) -> None:
    owner = scope.elsewhere.get(name, scope)
    if owner is not scope:
        binding.since = None  # whether the function that says ``global`` was ever called is not known
    owner.bound.setdefault(name, []).append(binding)


def _assign(scope: _Scope, target: ast.expr, value: ast.expr, since: int | None = None) -> None:
    stack = [(target, value)]
    while stack:
        target, value = stack.pop()
        if isinstance(target, ast.Name):
            _add(scope, target.id, _Binding(value=value, scope=scope, since=since))
        elif (
            isinstance(target, (ast.Tuple, ast.List))
            and isinstance(value, (ast.Tuple, ast.List))
            and len(target.elts) == len(value.elts)
        ):
            stack += zip(target.elts, value.elts, strict=True)
