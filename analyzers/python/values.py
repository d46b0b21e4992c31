"""What an expression is worth, where reading can tell: constants through names, sums, formats and joins."""

from __future__ import annotations

import ast
from collections.abc import Callable

from analyzers.python.scopes import Binding, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_HOPS = 12
_MAX_TEXT = 10_000
_MAX_PARTS = 200
_MAX_ARGUMENTS = 20


_INSTANCES = frozenset({"self", "cls"})
_METHODS = frozenset("format join strip lower upper lstrip rstrip replace encode decode".split(" "))


class Unknown:
    """The value cannot be known by reading."""

    def __bool__(self) -> bool:
        return False


UNKNOWN = Unknown()


def fold(node: ast.AST | None, scope: Scope, hops: int = _MAX_HOPS) -> object:
    """Compute the constant that an expression is; UNKNOWN if reading cannot tell. Lists become tuples."""
    kind = node.__class__
    if kind is ast.Constant:
        return node.value  # type: ignore[union-attr]
    shape = _SHAPES.get(kind)  # type: ignore[arg-type]
    return UNKNOWN if shape is None or hops == 0 else shape(node, scope, hops - 1)


def _name(node: ast.Name, scope: Scope, hops: int) -> object:
    found = scope.bindings(node.id)
    if found and found[0].scope is scope and _line(found[0].node) > node.lineno:
        return UNKNOWN  # it had another value, or none, when it was read
    return _only(found, hops)


def _attribute(node: ast.Attribute, scope: Scope, hops: int) -> object:
    owner = scope.enclosing_class() if isinstance(node.value, ast.Name) and node.value.id in _INSTANCES else None
    if owner is None:
        return UNKNOWN
    return _only([*owner.attributes.get(node.attr, ()), *owner.bound.get(node.attr, ())], hops)


def _operation(node: ast.BinOp, scope: Scope, hops: int) -> object:
    if isinstance(node.op, ast.Add):
        return _sum(node, scope, hops)
    if isinstance(node.op, (ast.Mod, ast.Mult)):
        return _operate(fold(node.left, scope, hops), node.op, fold(node.right, scope, hops))
    return UNKNOWN


def _unary(node: ast.UnaryOp, scope: Scope, hops: int) -> object:
    match node:
        case ast.UnaryOp(op=ast.Not()):
            value = fold(node.operand, scope, hops)
            return UNKNOWN if value is UNKNOWN else not value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case _:
            return UNKNOWN


def _sequence(node: ast.Tuple | ast.List, scope: Scope, hops: int) -> object:
    if len(node.elts) > _MAX_PARTS:
        return UNKNOWN
    items = tuple(fold(item, scope, hops) for item in node.elts)
    return UNKNOWN if UNKNOWN in items else items


def _call(node: ast.Call, scope: Scope, hops: int) -> object:
    function = node.func
    if not isinstance(function, ast.Attribute) or node.keywords or len(node.args) > _MAX_ARGUMENTS:
        return UNKNOWN
    if function.attr not in _METHODS:
        return UNKNOWN
    base = fold(function.value, scope, hops)
    return _method(base, function.attr, [fold(item, scope, hops) for item in node.args])


def text_of(node: ast.AST | None, scope: Scope) -> str | None:
    """Give the text that an expression certainly is, or None."""
    value = fold(node, scope)
    return value if isinstance(value, str) else None


def is_true(node: ast.AST | None, scope: Scope) -> bool:
    """Whether an expression is certainly true: a constant, or a container with something in it."""
    match node:
        case ast.List() | ast.Tuple() | ast.Set():
            return any(not isinstance(item, ast.Starred) for item in node.elts)
        case ast.Dict():
            return any(key is not None for key in node.keys)
        case ast.Lambda() | ast.GeneratorExp():
            return True
        case ast.JoinedStr():
            return any(_is_never_empty(part) for part in node.values)
        case _:
            return bool(fold(node, scope))


def is_false(node: ast.AST | None, scope: Scope) -> bool:
    """Whether an expression is certainly false: a constant, or an empty container."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    value = fold(node, scope)
    return value is not UNKNOWN and not value


def _is_never_empty(part: ast.expr) -> bool:
    match part:
        case ast.Constant():
            return bool(part.value)
        case ast.FormattedValue(value=ast.Constant(value=str(text)), conversion=-1):
            return bool(text)
        case ast.FormattedValue(value=ast.Constant()):
            return True
        case _:
            return False


def is_literal(node: ast.AST | None) -> bool:
    """Whether an expression is written out: a constant, or a container of constants; None counts as one."""
    stack = [node]
    while stack:
        part = stack.pop()
        match part:
            case None | ast.Constant():
                pass
            case ast.Tuple() | ast.List() | ast.Set():
                stack += part.elts
            case ast.Dict():
                stack += [*part.keys, *part.values]
            case _:
                return False
    return True


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """Give the value of a keyword argument, or None."""
    for one in call.keywords:
        if one.arg == name:
            return one.value
    return None


def argument(call: ast.Call, place: int, name: str | None = None) -> ast.expr | None:
    """Give an argument by its place (from 0) or its name, or None. What stands after ``*args`` has no place."""
    for index, one in enumerate(call.args[: place + 1]):
        if isinstance(one, ast.Starred):
            return None
        if index == place:
            return one
    return None if name is None else keyword(call, name)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _only(bindings: list[Binding], hops: int) -> object:
    """The value of what is bound once, and not by being entered."""
    if len(bindings) == 1:
        value, scope, node = bindings[0]
        if isinstance(value, ast.expr) and not isinstance(node, ast.withitem):
            return fold(value, scope, hops - 1)
    return UNKNOWN


def _joined(node: ast.JoinedStr, scope: Scope, hops: int) -> object:
    parts: list[str] = []
    for part in node.values[:_MAX_PARTS]:
        if isinstance(part, ast.FormattedValue) and part.format_spec is not None:
            return UNKNOWN
        value = fold(part.value if isinstance(part, ast.FormattedValue) else part, scope, hops)
        if value is UNKNOWN:
            return UNKNOWN
        parts.append(str(value))
    return "".join(parts)[:_MAX_TEXT]


def _sum(node: ast.BinOp, scope: Scope, hops: int) -> object:
    """Add up a chain of sums without recursing along it."""
    parts: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        parts.append(left.right)
        left = left.left
        if len(parts) > _MAX_PARTS:
            return UNKNOWN
    total = fold(left, scope, hops)
    for part in reversed(parts):
        if total is UNKNOWN:
            return UNKNOWN
        total = _operate(total, node.op, fold(part, scope, hops))
    return total


def _operate(left: object, operator: ast.operator, right: object) -> object:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    try:
        match operator, left, right:
            case ast.Add(), (str() | bytes() | tuple()), _ if type(left) is type(right):
                return (left + right)[:_MAX_TEXT]  # type: ignore[operator]
            case ast.Add(), (int() | float()), (int() | float()):
                return left + right
            # A width in the format would make a text of any length.
            case ast.Mod(), str(), _ if "*" not in left and not any(character.isdigit() for character in left):
                return (left % right)[:_MAX_TEXT]
            case ast.Mult(), (str() | bytes()), int() if 0 <= right * len(left) <= _MAX_TEXT:
                return left * right
            case _:
                return UNKNOWN
    except (TypeError, ValueError, KeyError, OverflowError):
        return UNKNOWN


def _method(base: object, method: str, arguments: list[object]) -> object:
    if not isinstance(base, str) or UNKNOWN in arguments:
        return UNKNOWN
    try:
        match method, arguments:
            case "format", _ if ":" not in base:
                return base.format(*arguments)[:_MAX_TEXT]
            case "join", [tuple() as items]:
                return base.join(items)[:_MAX_TEXT]
            case "strip" | "lower" | "upper" | "lstrip" | "rstrip", []:
                return getattr(base, method)()
            case "replace", [str() as old, str() as new] if len(base) * (len(new) + 1) <= _MAX_TEXT:
                return base.replace(old, new)
            case "encode" | "decode", _:
                return base
            case _:
                return UNKNOWN
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return UNKNOWN


_SHAPES: dict[type[ast.AST], Callable[[Any, Scope, int], object]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.JoinedStr: _joined,
    ast.BinOp: _operation,
    ast.UnaryOp: _unary,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Call: _call,
}
