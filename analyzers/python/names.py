"""What a name stands for, as far as reading can tell: an import, a builtin, another name, or something unknown.

The model is simple on purpose, and errs towards the builtin. A name that no scope binds is a builtin. A name with
several bindings may stand for any of them, in whatever order they are; only a binding that certainly happened before,
under no condition, hides a builtin of that name. ``from x import *``, ``exec`` and attributes set on objects are not
followed.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from analyzers.python.scopes import Scope, Scopes, owner_of

_BUILTINS = frozenset(dir(builtins)) | {"__builtins__"}
_MAX_HOPS = 16
_MAX_STEPS = 256


class Names:
    """The names of one module."""

    def __init__(self, module: ast.Module) -> None:
        self._scopes = Scopes(module)
        self._steps = 0

    def origins(self, node: ast.expr) -> frozenset[str]:
        """Every dotted name the expression may stand for, such as ``builtins.eval``; empty if none is known."""
        scope = self._scopes.of(node)
        # Names bound many times to names bound many times would multiply; one question may only cost so much.
        self._steps = _MAX_STEPS
        return frozenset(self._origins(node, scope, _MAX_HOPS))

    def certain(self, node: ast.expr) -> bool:
        """Whether the expression is a name or attribute with one meaning only."""
        if isinstance(node, ast.Name):
            owner = owner_of(self._scopes.of(node), node.id)
            return owner is None or len(owner.bound[node.id]) == 1
        return isinstance(node, (ast.Attribute, ast.Call, ast.Subscript))

    def hides_builtin(self, node: ast.Name) -> bool:
        """Whether the name is certainly bound where it is read, so that it cannot be the builtin of that name.

        A binding under a condition, further down, or taken back by ``del`` hides nothing for certain.
        """
        scope = self._scopes.of(node)
        owner = owner_of(scope, node.id)
        if owner is None or node.id in owner.deleted:
            return False
        return any(
            binding.since is not None
            and (owner is not scope or binding.since < node.lineno)
            and (binding.until is None or node.lineno <= binding.until)
            for binding in owner.bound[node.id]
        )

    def _origins(self, node: ast.expr, scope: Scope, hops: int) -> Iterator[str]:  # noqa: C901, PLR0912 - one case per shape
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

    def _name(self, name: str, scope: Scope, hops: int) -> Iterator[str]:
        if hops == 0:
            return
        owner = owner_of(scope, name)
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
                    yield from self._name(name, Scope(owner.parent), hops - 1)
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
