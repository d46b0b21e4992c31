"""Operators over values: text put together, numbers and conditions worked out."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from analyzers.golang.values import A_NUMBER, UNKNOWN, Constant, Value, joined, of

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_POWER = 256
_COMPARING: dict[str, Callable[[object, object], bool]] = {"==": operator.eq, "!=": operator.ne}
_WHOLE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
    "&^": lambda left, right: left & ~right,
}


def chain(node: Node, most: int) -> tuple[list[Node], list[str]]:
    """Take ``a + b + c`` apart, which leans left, without recursion; of a longer chain only the end."""
    operands: list[Node] = []
    operators: list[str] = []
    current: Node | None = node
    while current is not None and current.type == "binary_expression" and len(operands) < most:
        right = current.child_by_field_name("right")
        sign = current.child_by_field_name("operator")
        if right is None or sign is None:
            break
        operands.append(right)
        operators.append(sign.type)
        current = current.child_by_field_name("left")
    if current is not None and current.type != "binary_expression":
        operands.append(current)
    elif operators:
        operators.pop()
    return operands[::-1], operators[::-1]


def fold(values: list[Value], operators: list[str]) -> Value:
    """Work a chain out from the left; its operators bind alike, since each part leaned into the next."""
    if not values:
        return UNKNOWN
    if all(sign == "+" for sign in operators) and not all(_is_number(value) for value in values):
        return joined(values)
    found = values[0]
    for sign, value in zip(operators, values[1:], strict=False):
        found = _pair(found, sign, value)
    return found


def _is_number(value: Value) -> bool:
    return value.number


def _pair(left: Value, sign: str, right: Value) -> Value:
    one, other = left.constant, right.constant
    if left.known and right.known and len(left.constants or ()) == len(right.constants or ()) == 1:
        return _constants(one, sign, other)
    if sign == "+" and not (left.number and right.number):
        return joined([left, right])
    return A_NUMBER


def _constants(one: Constant, sign: str, other: Constant) -> Value:
    if sign in _COMPARING:
        return of(_COMPARING[sign](one, other))
    if isinstance(one, bool) and isinstance(other, bool):
        return of(one and other) if sign == "&&" else of(one or other) if sign == "||" else UNKNOWN
    if isinstance(one, str) and isinstance(other, str) and sign == "+":
        return of(one + other, "string")
    if not isinstance(one, int) or not isinstance(other, int):
        return A_NUMBER
    if sign in _WHOLE:
        return of(_WHOLE[sign](one, other))
    if sign in {"<<", ">>"} and 0 <= other <= _MAX_POWER:
        return of(one << other if sign == "<<" else one >> other)
    if sign in {"/", "%"} and other:
        quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
        return of(quotient if sign == "/" else one - quotient * other)
    return A_NUMBER


def unary(sign: str, value: Value) -> Value:
    """``&x`` and ``*x`` are taken for ``x``; the rest is worked out."""
    constant = value.constant
    if sign in {"&", "*", "<-"}:
        return value
    if sign == "!" and isinstance(constant, bool):
        return of(not constant)
    if sign == "-" and isinstance(constant, (int, float)):
        return of(-constant)
    if sign == "^" and isinstance(constant, int):
        return of(~constant)
    return A_NUMBER if sign in {"-", "+", "^", "!"} else value
