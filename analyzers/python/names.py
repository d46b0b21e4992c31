"""What an expression stands for, as far as reading can tell: dotted names such as ``subprocess.run``.

The model is simple on purpose. A name that no scope binds is a builtin, comes with an ``import *``, or else is taken
for what it says, as in a snippet whose imports were cut off. A name with several bindings may stand for any of them, in
whatever order they are. What a call gives is written ``requests.Session()``, an item ``sys.argv[]``; a ``with`` gives
what it enters, a parameter what its annotation and default say, ``self.x`` what the class sets it to, and a function of
the source what it returns. ``exec`` and attributes set on other objects are not followed.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from analyzers.python.scopes import Binding, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BUILTINS = frozenset(dir(builtins)) | {"__builtins__"}
# Looked up a hundred times for a screen of code.
_NAME, _ATTRIBUTE = ast.Name, ast.Attribute
_MAX_HOPS = 16
_MAX_STEPS = 256
_MAX_BINDINGS = 16
_MAX_ORIGINS = 16
_INSTANCES = frozenset({"self", "cls"})
_NAMESPACES = {
    "builtins": "builtins",  # ``__builtins__["eval"]``, in modules that are not __main__
    "builtins.__dict__": "builtins",
    "builtins.globals()": "",
}
# Names that snippets use without saying what they are.
_CUSTOMARY = {
    "np": "numpy",
    "pd": "pandas",
    "plt": "matplotlib.pyplot",
    "tf": "tensorflow",
    "nn": "torch.nn",
    "ET": "xml.etree.ElementTree",
    "etree": "lxml.etree",
    "sa": "sqlalchemy",
    "sp": "subprocess",
    "req": "requests",
    "BeautifulSoup": "bs4.BeautifulSoup",
    "Popen": "subprocess.Popen",
    "check_output": "subprocess.check_output",
    "check_call": "subprocess.check_call",
    "mark_safe": "django.utils.safestring.mark_safe",
    "Markup": "markupsafe.Markup",
    "Flask": "flask.Flask",
    "render_template_string": "flask.render_template_string",
    "SSHClient": "paramiko.SSHClient",
    "AutoAddPolicy": "paramiko.AutoAddPolicy",
    "urlopen": "urllib.request.urlopen",
    "mktemp": "tempfile.mktemp",
    "Path": "pathlib.Path",
    "environ": "os.environ",
    "getenv": "os.getenv",
    "request": "flask.request",
}


def origins(node: ast.AST, scope: Scope) -> tuple[str, ...]:
    """Every dotted name the expression may stand for, the likeliest first; empty if none is known."""
    attributes: list[str] = []
    base = node
    while base.__class__ is _ATTRIBUTE:
        attributes.append(base.attr)
        base = base.value
    if base.__class__ is _NAME:
        name: str = base.id
        found = scope.known.get(name)
        if found is None:
            found = scope.known[name] = _of_name(name, scope)
        if not attributes:
            return found
        if name not in _INSTANCES:
            path = ".".join(reversed(attributes)) if len(attributes) > 1 else attributes[0]
            return tuple([_member(one, path) for one in found])
    return _Search().expression(node, scope)


def _of_name(name: str, scope: Scope) -> tuple[str, ...]:
    """What a name stands for. Imports, builtins and parameters, most names of most texts, need no search."""
    owner = scope.owner(name)
    if owner is None:
        return tuple(_unbound(name, scope))
    bindings = owner.bound[name]
    if len(bindings) == 1:
        value = bindings[0].value
        kind = value.__class__
        if kind is str:
            return (value,)  # type: ignore[return-value]
        if kind in _NAMELESS or (isinstance(value, ast.arg) and value.annotation is None and not _has_defaults(owner)):
            return ()
    return _Search().name(name, scope)


_NAMELESS = frozenset({ast.Dict, ast.List, ast.Set, ast.FunctionDef, ast.AsyncFunctionDef, ast.BinOp, ast.Compare})


def _has_defaults(scope: Scope) -> bool:
    arguments = scope.node.args  # type: ignore[attr-defined]
    return bool(arguments.defaults or arguments.kw_defaults)


def is_certain(node: ast.AST, scope: Scope) -> bool:
    """Whether the expression has one meaning only: its name is bound once, or is a builtin that nothing binds."""
    while node.__class__ is ast.Attribute:
        node = node.value
    if node.__class__ is not ast.Name:
        return True
    name: str = node.id
    owner = scope.owner(name)
    return name in _BUILTINS if owner is None else len(owner.bound[name]) == 1


def hides_builtin(node: ast.Name, scope: Scope) -> bool:
    """Whether the name is certainly bound where it is read, so that it cannot be the builtin of that name.

    A binding under a condition, further down, or taken back by ``del`` hides nothing for certain.
    """
    owner = scope.owner(node.id)
    if owner is None or node.id in owner.deleted:
        return False
    for binding in owner.bound[node.id]:
        since, until = _certain_lines(binding, owner)
        if (
            since is not None
            and (owner is not scope or since < node.lineno)
            and (until is None or node.lineno <= until)
        ):
            return True
    return False


def _certain_lines(binding: Binding, owner: Scope) -> tuple[int | None, int | None]:
    """From which line to which a name is certainly bound; None where that hangs on a condition."""
    node = binding.node
    if binding.scope is not owner:
        return None, None  # whether the function that says ``global`` was ever called is not known
    if isinstance(node, (ast.arg, ast.comprehension)):
        return 0, None
    if isinstance(node, (ast.For, ast.AsyncFor)):
        # Only inside the loop: it may have no turn at all.
        return (node.lineno, node.body[-1].end_lineno) if isinstance(node.target, ast.Name) else (None, None)
    if isinstance(node, (ast.AugAssign, ast.withitem)):
        return None, None
    return (node.lineno if isinstance(node, ast.stmt) and owner.holds(node) else None), None


class _Search:
    """One question, with a bound on what it may cost: names bound to names bound to names would multiply."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = _MAX_STEPS

    def name(self, name: str, scope: Scope) -> tuple[str, ...]:
        return _once(self.of_name(name, scope, _MAX_HOPS))

    def expression(self, node: ast.AST, scope: Scope) -> tuple[str, ...]:
        return _once(self.of(node, scope, _MAX_HOPS))

    def of(self, node: ast.AST, scope: Scope, hops: int) -> list[str]:
        self.steps -= 1
        shape = _SHAPES.get(node.__class__)
        return [] if shape is None or hops == 0 or self.steps < 0 else shape(self, node, scope, hops - 1)

    def of_name(self, name: str, scope: Scope, hops: int) -> list[str]:
        self.steps -= 1
        if hops == 0 or self.steps < 0:
            return []
        known = scope.known.get(name)
        if known is not None:
            return list(known)
        owner = scope.owner(name)
        if owner is None:
            return _unbound(name, scope)
        found: list[str] = []
        for binding in owner.bound[name][:_MAX_BINDINGS]:
            value = binding.value
            if value.__class__ is _NAME and value.id == name and binding.scope is owner:
                # ``eval = eval``: the right side is what the name meant outside.
                outside = owner.parent
                found += _unbound(name, scope) if outside is None else self.of_name(name, outside, hops - 1)
            else:
                found += self.of_binding(binding, hops - 1)
        return found

    def of_binding(self, binding: Binding, hops: int) -> list[str]:
        value, scope = binding.value, binding.scope
        if isinstance(value, str):
            return [value]
        if isinstance(value, ast.expr):
            return self.of(value, scope, hops)
        if isinstance(value, ast.arg):
            outer = scope.parent or scope
            found = [] if value.annotation is None else self._made(value.annotation, outer, hops)
            default = scope.default(value)
            return found if default is None else [*found, *self.of(default, outer, hops)]
        if isinstance(value, ast.AnnAssign):
            return self._made(value.annotation, scope, hops)
        if isinstance(value, (ast.For, ast.AsyncFor, ast.comprehension)) and isinstance(value.target, ast.Name):
            return [f"{origin}[]" for origin in self.of(value.iter, scope, hops)]
        if isinstance(value, ast.ClassDef):
            return [origin for base in value.bases[:_MAX_BINDINGS] for origin in self.of(base, scope, hops)]
        return []

    def _made(self, annotation: ast.expr, scope: Scope, hops: int) -> list[str]:
        """What has this annotation is as what its class makes."""
        return [f"{origin.removesuffix('[]')}()" for origin in self.of(annotation, scope, hops)]


def _of_name_node(search: _Search, node: ast.Name, scope: Scope, hops: int) -> list[str]:
    return search.of_name(node.id, scope, hops)


def _of_attribute(search: _Search, node: ast.Attribute, scope: Scope, hops: int) -> list[str]:
    attributes: list[str] = []
    value: ast.expr = node
    while isinstance(value, ast.Attribute):
        attributes.append(value.attr)
        value = value.value
    if isinstance(value, ast.Name) and value.id in _INSTANCES:
        owner = scope.enclosing_class()
        known = owner.attributes.get(attributes[-1], ()) if owner is not None else ()
        if known:
            path = ".".join(reversed(attributes[:-1]))
            found = [origin for binding in known[:_MAX_BINDINGS] for origin in search.of_binding(binding, hops)]
            return [_member(origin, path) for origin in found] if path else found
    path = ".".join(reversed(attributes))
    return [_member(origin, path) for origin in search.of(value, scope, hops)]


def _of_value(search: _Search, node: ast.NamedExpr | ast.Await | ast.Starred, scope: Scope, hops: int) -> list[str]:
    return search.of(node.value, scope, hops)


def _of_choice(search: _Search, node: ast.IfExp, scope: Scope, hops: int) -> list[str]:
    return [*search.of(node.body, scope, hops), *search.of(node.orelse, scope, hops)]


def _of_either(search: _Search, node: ast.BoolOp, scope: Scope, hops: int) -> list[str]:
    return [origin for value in node.values for origin in search.of(value, scope, hops)]


def _of_item(search: _Search, node: ast.Subscript, scope: Scope, hops: int) -> list[str]:
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return [
        _member(_NAMESPACES[origin], key) if origin in _NAMESPACES and isinstance(key, str) else f"{origin}[]"
        for origin in search.of(node.value, scope, hops)
    ]


def _of_text(_: _Search, node: ast.Constant | ast.JoinedStr, __: Scope, ___: int) -> list[str]:
    return ["builtins.str()"] if isinstance(node, ast.JoinedStr) or isinstance(node.value, str) else []


def _of_call(search: _Search, node: ast.Call, scope: Scope, hops: int) -> list[str]:
    found: list[str] = []
    function = node.func
    if isinstance(function, ast.Name):
        for binding in scope.bindings(function.id)[:_MAX_BINDINGS]:
            if binding.value.__class__ in _DEFINITIONS:
                inner = scope.tree.scope_of(binding.value)
                for value in inner.returns[:_MAX_BINDINGS] if inner is not None else ():
                    found += search.of(value, inner, hops)  # type: ignore[arg-type]
    first = node.args[0] if node.args else None
    for origin in search.of(function, scope, hops):
        if first is None or origin not in _REFLECTING:
            found.append(f"{origin}()")
        elif origin == "builtins.getattr":
            name = _text(node.args[1]) if len(node.args) > 1 else ""
            if name:
                found += [_member(base, name) for base in search.of(first, scope, hops)]
        elif origin == "builtins.vars":
            found += [f"{base}.__dict__" for base in search.of(first, scope, hops)]
        elif name := _text(first):
            found.append(name)
    return found


_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef})
_REFLECTING = frozenset(
    {"builtins.getattr", "builtins.vars", "builtins.__import__", "importlib.import_module", "importlib.__import__"}
)
_SHAPES: dict[type[ast.AST], Callable[[_Search, Any, Scope, int], list[str]]] = {
    ast.Name: _of_name_node,
    ast.Attribute: _of_attribute,
    ast.NamedExpr: _of_value,
    ast.Await: _of_value,
    ast.Starred: _of_value,
    ast.IfExp: _of_choice,
    ast.BoolOp: _of_either,
    ast.Subscript: _of_item,
    ast.Call: _of_call,
    ast.Constant: _of_text,
    ast.JoinedStr: _of_text,
}


def _once(found: list[str]) -> tuple[str, ...]:
    if len(found) > 1:
        return tuple(dict.fromkeys(found))[:_MAX_ORIGINS]
    return tuple(found)


def _unbound(name: str, scope: Scope) -> list[str]:
    if name in _BUILTINS:
        return ["builtins" if name == "__builtins__" else f"builtins.{name}"]
    if name in _INSTANCES:
        return []
    return [*(f"{module}.{name}" for module in scope.tree.stars[:_MAX_BINDINGS]), _CUSTOMARY.get(name, name)]


def _member(origin: str, path: str) -> str:
    if not origin:
        return "builtins" if path == "__builtins__" else path
    return f"{origin}.{path}"


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
