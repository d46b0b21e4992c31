"""Expressions as values: literals, operators, containers and conversions. Names and calls stand above."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from analyzers.deadline import Deadline
from analyzers.golang import folding, literals
from analyzers.golang.seen import Call
from analyzers.golang.tree import Tree
from analyzers.golang.values import EVERYWHERE, UNKNOWN, Bindings, Value, either, of, passed
from analyzers.source import Source as Text
from analyzers.syntax.reading import Reading

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH = 40
_MAX_STEPS = 5_000
"""For one question."""
_MAX_STEPS_A_CALL = 100
MAX_OPERANDS = 400


class Expressions(Tree):
    """A text with what is known of its values. One question costs a bounded number of steps, and all of them too."""

    def __init__(self, source: Text, reading: Reading, root: Node, deadline: Deadline) -> None:
        super().__init__(source, reading, root, deadline)
        self._steps = self._enough = 0
        self._most = 10 * _MAX_STEPS + _MAX_STEPS_A_CALL * len(self.seen.calls)
        self._known: dict[int, Value] = {}

    def value(self, node: Node, bindings: Bindings | None = None, depth: int = 0) -> Value:
        """Return what is known of an expression; ``bindings`` are the parameters of the function around it."""
        if bindings is None:
            known = self._known.get(node.id)
            if known is not None:
                return known
            self._known[node.id] = UNKNOWN  # what a value is made of cannot be itself
        self._steps += 1
        if depth == 0:
            self._enough = min(self._steps + _MAX_STEPS, self._most)
        if depth > _MAX_DEPTH or self._steps > self._enough:
            self.exhausted = self.exhausted or self._steps > self._enough
            return UNKNOWN
        name = self._by_kind.get(node.type)
        found = UNKNOWN if name is None else getattr(self, name)(node, bindings, depth + 1)
        if bindings is None:
            self._known[node.id] = found
        return found

    def argument(self, call: Call, index: int) -> Value:
        """Return what is known of an argument of a call; nothing if it has fewer."""
        return self.value(call.arguments[index]) if index < len(call.arguments) else UNKNOWN

    def receiver(self, call: Call) -> Value:
        """Return what is known of what a method is called on."""
        return UNKNOWN if call.receiver is None else self.value(call.receiver)

    def results(self, node: Node, index: int, bindings: Bindings | None = None, depth: int = 0) -> Value:
        """Return what is known of one of the results of an expression, counted from 0."""
        raise NotImplementedError

    _by_kind: ClassVar[dict[str, str]] = {
        "identifier": "_identifier",
        "selector_expression": "_selector",
        "call_expression": "_call",
        "index_expression": "_index",
        "slice_expression": "_slice",
        "binary_expression": "_binary",
        "unary_expression": "_unary",
        "parenthesized_expression": "_inside",
        "type_assertion_expression": "_inside",
        "variadic_argument": "_inside",
        "expression_list": "_inside",
        "type_conversion_expression": "_conversion",
        "composite_literal": "_composite",
        "literal_value": "_composite",
        "func_literal": "_function",
        "int_literal": "_number",
        "float_literal": "_number",
        "interpreted_string_literal": "_string",
        "raw_string_literal": "_string",
        "rune_literal": "_rune",
        "true": "_word",
        "false": "_word",
        "nil": "_word",
    }

    def _element(self, base: Value, index: Value | None, depth: int) -> Value:
        """One element of a container: the one of a known index, else any."""
        literal = base.node
        if literal is not None and literal.type in {"composite_literal", "literal_value"}:
            which = index.constant if index is not None else None
            elements = self.elements(literal)
            if isinstance(which, int) and not isinstance(which, bool) and 0 <= which < len(elements):
                return self.value(elements[which], base.bindings, depth)
            if isinstance(which, str):
                for key, node in self.fields(literal).items():
                    if key.startswith('"') and literals.string(key) == which:
                        return self.value(node, base.bindings, depth)
            found = either([self.value(element, base.bindings, depth) for element in elements])
            if base.source is None or found.source is not None:
                return found
        type_ = base.type[2:] if base.type.startswith("[]") else ""
        if base.source is None:
            return Value(clean=base.clean, type=type_)
        return Value(source=base.source, clean=base.clean, type=type_)

    def _index(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        operand, index = node.child_by_field_name("operand"), node.child_by_field_name("index")
        if operand is None:
            return UNKNOWN
        base = self.value(operand, bindings, depth)
        return self._element(base, None if index is None else self.value(index, bindings, depth), depth)

    def _slice(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        operand = node.child_by_field_name("operand")
        base = UNKNOWN if operand is None else self.value(operand, bindings, depth)
        return Value(
            source=base.source, clean=EVERYWHERE if base.known else base.clean, type=base.type, node=base.node,
            bindings=base.bindings,
        )  # fmt: skip

    def _binary(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        operands, operators = folding.chain(node, MAX_OPERANDS)
        values = [self.value(operand, bindings, depth) for operand in operands]
        return folding.fold(values, operators)

    def _unary(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        operand = node.child_by_field_name("operand")
        if operand is None:
            return UNKNOWN
        return folding.unary(node.children[0].type, self.value(operand, bindings, depth))

    def _inside(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        """What stands in parentheses, before ``.(T)``, or behind ``...``."""
        return self.value(node.named_children[0], bindings, depth) if node.named_children else UNKNOWN

    def _conversion(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        operand = node.child_by_field_name("operand")
        if operand is None:
            return UNKNOWN
        found = self.value(operand, bindings, depth)
        type_ = self.type_name(node.child_by_field_name("type"))
        return Value(found.constants, found.text, found.source, found.clean, type_, found.node, number=found.number)

    def _composite(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        type_ = self.type_name(node.child_by_field_name("type"))
        values = [self.value(element, bindings, depth) for element in self.elements(node)]
        harmless = all(value.harmless for value in values)
        found = passed(values)
        return Value(
            source=found.source, clean=EVERYWHERE if harmless else found.clean, type=type_, node=node, bindings=bindings
        )

    def _function(self, node: Node, bindings: Bindings | None, _: int) -> Value:
        return Value(node=node, bindings=bindings, clean=EVERYWHERE)

    def _number(self, node: Node, _: Bindings | None, __: int) -> Value:
        return of(literals.number(self.text(node)))

    def _string(self, node: Node, _: Bindings | None, __: int) -> Value:
        return of(literals.string(self.text(node)), "string")

    def _rune(self, node: Node, _: Bindings | None, __: int) -> Value:
        return of(literals.character(self.text(node)))

    def _word(self, node: Node, _: Bindings | None, __: int) -> Value:
        return of({"true": True, "false": False}.get(node.type))
