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
from collections.abc import Iterator

from analyzers.python.scopes import Binding, Scope

_BUILTINS = frozenset(dir(builtins)) | {"__builtins__"}
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
    while base.__class__ is ast.Attribute:
        attributes.append(base.attr)
        base = base.value
    if base.__class__ is ast.Name:
        name: str = base.id
        found = scope.known.get(name)
        if found is None:
            found = scope.known[name] = tuple(_Search().name(name, scope))
        if not attributes:
            return found
        if name not in _INSTANCES:
            path = ".".join(reversed(attributes)) if len(attributes) > 1 else attributes[0]
            return tuple([_member(one, path) for one in found])
    return tuple(_Search().expression(node, scope))


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

    def name(self, name: str, scope: Scope) -> list[str]:
        return list(dict.fromkeys(self._name(name, scope, _MAX_HOPS)))[:_MAX_ORIGINS]

    def expression(self, node: ast.AST, scope: Scope) -> list[str]:
        return list(dict.fromkeys(self._expression(node, scope, _MAX_HOPS)))[:_MAX_ORIGINS]

    def _expression(self, node: ast.AST, scope: Scope, hops: int) -> Iterator[str]:
        self.steps -= 1
        if hops == 0 or self.steps < 0:
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
                if isinstance(value, ast.Name) and value.id in _INSTANCES:
                    owner = scope.enclosing_class()
                    known = owner.attributes.get(attributes[-1], ()) if owner is not None else ()
                    path = ".".join(reversed(attributes[:-1]))
                    for binding in known[:_MAX_BINDINGS]:
                        for origin in self._bound(binding, hops - 1):
                            yield _member(origin, path) if path else origin
                    if known:
                        return
                path = ".".join(reversed(attributes))
                for origin in self._expression(value, scope, hops - 1):
                    yield _member(origin, path)
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                yield from self._expression(node.value, scope, hops - 1)
            case ast.IfExp():
                yield from self._expression(node.body, scope, hops - 1)
                yield from self._expression(node.orelse, scope, hops - 1)
            case ast.BoolOp():
                for value in node.values:
                    yield from self._expression(value, scope, hops - 1)
            case ast.Subscript():
                key = node.slice.value if isinstance(node.slice, ast.Constant) else None
                for origin in self._expression(node.value, scope, hops - 1):
                    if origin in _NAMESPACES and isinstance(key, str):
                        yield _member(_NAMESPACES[origin], key)
                    else:
                        yield f"{origin}[]"
            case ast.Call():
                yield from self._call(node, scope, hops - 1)
            case ast.Constant(value=str()) | ast.JoinedStr():
                yield "builtins.str()"
            case _:
                pass

    def _call(self, node: ast.Call, scope: Scope, hops: int) -> Iterator[str]:
        first = node.args[0] if node.args else None
        function = node.func
        if isinstance(function, ast.Name):
            for binding in scope.bindings(function.id)[:_MAX_BINDINGS]:
                if isinstance(binding.value, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    inner = scope.tree.scope_of(binding.value)
                    if inner is not None:
                        for value in inner.returns[:_MAX_BINDINGS]:
                            yield from self._expression(value, inner, hops - 1)
        for origin in self._expression(function, scope, hops):
            if first is None:
                yield f"{origin}()"
            elif origin == "builtins.getattr":
                name = _text(node.args[1]) if len(node.args) > 1 else ""
                if name:
                    for base in self._expression(first, scope, hops):
                        yield _member(base, name)
            elif origin in {"builtins.__import__", "importlib.import_module", "importlib.__import__"} and _text(first):
                yield _text(first)
            elif origin == "builtins.vars":
                yield from (f"{base}.__dict__" for base in self._expression(first, scope, hops))
            else:
                yield f"{origin}()"

    def _name(self, name: str, scope: Scope, hops: int) -> Iterator[str]:
        self.steps -= 1
        if hops == 0 or self.steps < 0:
            return
        owner = scope.owner(name)
        if owner is None:
            yield from _unbound(name, scope)
            return
        for binding in owner.bound[name][:_MAX_BINDINGS]:
            value = binding.value
            if isinstance(value, ast.Name) and value.id == name and binding.scope is owner:
                # ``eval = eval``: the right side is what the name meant outside.
                if owner.parent is None:
                    yield from _unbound(name, scope)
                else:
                    yield from self._name(name, owner.parent, hops - 1)
            else:
                yield from self._bound(binding, hops - 1)

    def _bound(self, binding: Binding, hops: int) -> Iterator[str]:
        value, scope = binding.value, binding.scope
        if isinstance(value, str):
            yield value
        elif isinstance(value, ast.expr):
            yield from self._expression(value, scope, hops)
        elif isinstance(value, ast.arg):
            outer = scope.parent or scope
            if value.annotation is not None:
                for origin in self._expression(value.annotation, outer, hops):
                    yield f"{origin.removesuffix('[]')}()"
            default = scope.default(value)
            if default is not None:
                yield from self._expression(default, outer, hops)
        elif isinstance(value, ast.AnnAssign):
            for origin in self._expression(value.annotation, scope, hops):
                yield f"{origin.removesuffix('[]')}()"
        elif isinstance(value, (ast.For, ast.AsyncFor, ast.comprehension)) and isinstance(value.target, ast.Name):
            yield from (f"{origin}[]" for origin in self._expression(value.iter, scope, hops))
        elif isinstance(value, ast.ClassDef):
            for base in value.bases[:_MAX_BINDINGS]:
                yield from self._expression(base, scope, hops)


def _unbound(name: str, scope: Scope) -> Iterator[str]:
    if name == "__builtins__":
        yield "builtins"
    elif name in _BUILTINS:
        yield f"builtins.{name}"
    elif name not in _INSTANCES:
        for module in scope.tree.stars[:_MAX_BINDINGS]:
            yield f"{module}.{name}"
        yield _CUSTOMARY.get(name, name)


def _member(origin: str, path: str) -> str:
    if not origin:
        return "builtins" if path == "__builtins__" else path
    return f"{origin}.{path}"


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
