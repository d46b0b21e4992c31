"""What operators and f-strings give: numbers that are computed, texts that are put together."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from analyzers.python.flow.containers import element
from analyzers.python.flow.making import put_together
from analyzers.python.flow.state import State
from analyzers.python.flow.values import CLEAN, Value, all_taints, cleaned, head_of, joined, merged
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from analyzers.python.flow.expressions import Reader

_MOST_PARTS = 200
_MOST_NUMBER = 2**63
_NUMBERS: dict[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def operation(run: Reader, node: ast.BinOp, state: State) -> Value:
    """What an operator gives; a long chain of them without going down along it."""
    rights: list[ast.BinOp] = []
    left: ast.expr = node
    while left.__class__ is ast.BinOp:
        rights.append(left)
        left = left.left
    value = run.evaluate(left, state)
    if len(rights) > 1:
        return _chain(run, value, rights, state)
    return _operate(value, node, run.evaluate(node.right, state))


def _chain(run: Reader, value: Value, rights: list[ast.BinOp], state: State) -> Value:
    if all(one.op.__class__ is ast.Add for one in rights) and not isinstance(value.const, (int, float)):
        parts = [value, *(run.evaluate(one.right, state) for one in reversed(rights))]
        return _added(parts, rights[0])
    for one in reversed(rights):
        value = _operate(value, one, run.evaluate(one.right, state))
    return value


def _added(parts: list[Value], node: ast.BinOp) -> Value:
    if any(part.items is not None or part.rest is not None for part in parts):
        made = Value(merged(part.taints for part in parts), items={})
        made.rest = joined(element(part) for part in parts)
        return made
    if all(isinstance(part.const, (int, float)) for part in parts):
        return Value(const=sum(part.const for part in parts))  # type: ignore[misc]
    return put_together(parts, node)


def _operate(left: Value, node: ast.BinOp, right: Value) -> Value:
    kind = node.op.__class__
    if isinstance(left.const, (int, float)) and isinstance(right.const, (int, float)):
        return _computed(left.const, kind, right.const)
    if kind is ast.Add:
        return _added([left, right], node)
    if kind is ast.Mod:
        if isinstance(left.const, str) and "%" in left.const:
            fields = left.const.replace("%%", "").count("%")
            if fields == sum(left.const.count(one) for one in ("%d", "%i", "%f", "%x")):
                return CLEAN
        made = put_together([left, right], node)
        made.const = UNKNOWN
        made.head = head_of(left).partition("%")[0]
        if isinstance(left.const, str) and left.const.count("%") == left.const.count("%r"):
            made.taints = cleaned(made.taints, frozenset({"log"}))
        return made
    if kind is ast.Div:
        made = put_together([left, Value(const="/"), right], node)
        made.names = left.names or right.names
        return made
    if kind is ast.BitOr:
        return joined([left, right])
    if kind is ast.Mult:
        return Value(merged((all_taints(left), all_taints(right))))
    return CLEAN


def _computed(left: Any, kind: type[ast.operator], right: Any) -> Value:  # noqa: ANN401 - any node that has a place
    compute = _NUMBERS.get(kind)
    if compute is None or abs(left) > _MOST_NUMBER or abs(right) > _MOST_NUMBER:
        return CLEAN
    try:
        return Value(const=compute(left, right))
    except (ArithmeticError, ValueError):
        return CLEAN


def text(run: Reader, node: ast.JoinedStr, state: State) -> Value:
    """What an f-string gives."""
    return put_together([run.evaluate(part, state) for part in node.values[:_MOST_PARTS]], node)


def formatted(run: Reader, node: ast.FormattedValue, state: State) -> Value:
    """What a field of an f-string gives; a number, if its format says so."""
    value = run.evaluate(node.value, state)
    spec = node.format_spec
    if isinstance(spec, ast.JoinedStr) and len(spec.values) == 1:
        last = spec.values[0]
        if isinstance(last, ast.Constant) and str(last.value)[-1:] in tuple("dfxXbeEgGn%"):
            return CLEAN
    if node.conversion == ord("r"):
        return Value(cleaned(all_taints(value), frozenset({"log"})))
    return value
