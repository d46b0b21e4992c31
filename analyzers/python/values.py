"""What an expression is worth, where reading can tell: constants through names, sums, formats and joins."""

from __future__ import annotations

import ast

from analyzers.python.scopes import Binding, Scope

_MAX_HOPS = 12
_MAX_TEXT = 10_000
_MAX_PARTS = 200
_MAX_ARGUMENTS = 20


class Unknown:
    """The value cannot be known by reading."""

    def __bool__(self) -> bool:
        return False


UNKNOWN = Unknown()


def fold(node: ast.AST | None, scope: Scope, hops: int = _MAX_HOPS) -> object:
    """Compute the constant that an expression is; UNKNOWN if reading cannot tell. Lists become tuples."""
    if node.__class__ is ast.Constant:
        return node.value
    if hops == 0:
        return UNKNOWN
    match node:
        case ast.Name():
            found = scope.bindings(node.id)
            if found and found[0].scope is scope and _line(found[0].node) > node.lineno:
                return UNKNOWN  # it had another value, or none, when it was read
            return _only(found, hops)
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            owner = scope.enclosing_class()
            if owner is None:
                return UNKNOWN
            return _only([*owner.attributes.get(node.attr, ()), *owner.bound.get(node.attr, ())], hops)
        case ast.JoinedStr():
            return _joined(node, scope, hops)
        case ast.BinOp(op=ast.Add()):
            return _sum(node, scope, hops)
        case ast.BinOp(op=ast.Mod() | ast.Mult()):
            return _operate(fold(node.left, scope, hops - 1), node.op, fold(node.right, scope, hops - 1))
        case ast.UnaryOp(op=ast.Not()):
            value = fold(node.operand, scope, hops - 1)
            return UNKNOWN if value is UNKNOWN else not value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Tuple() | ast.List() if len(node.elts) <= _MAX_PARTS:
            items = tuple(fold(item, scope, hops - 1) for item in node.elts)
            return UNKNOWN if UNKNOWN in items else items
        case ast.Call(func=ast.Attribute(value=base, attr=method), args=args, keywords=[]) if (
            len(args) <= _MAX_ARGUMENTS
        ):
            return _method(fold(base, scope, hops - 1), method, [fold(item, scope, hops - 1) for item in args])
        case _:
            return UNKNOWN


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
        value = fold(part.value if isinstance(part, ast.FormattedValue) else part, scope, hops - 1)
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
    total = fold(left, scope, hops - 1)
    for part in reversed(parts):
        if total is UNKNOWN:
            return UNKNOWN
        total = _operate(total, node.op, fold(part, scope, hops - 1))
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
