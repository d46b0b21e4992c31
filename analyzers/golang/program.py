"""A Go program as the rules ask about it: names, expressions, and calls of its own functions and of others'."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzers.golang import calling
from analyzers.golang.expressions import MAX_OPERANDS
from analyzers.golang.named import MAX_CALLERS, NUMERIC, Named
from analyzers.golang.scopes import Function
from analyzers.golang.seen import Call
from analyzers.golang.values import A_NUMBER, EVERYWHERE, UNKNOWN, Bindings, Value, either, passed
from analyzers.golang.words import words

if TYPE_CHECKING:
    from tree_sitter import Node

_HOLDING = words(
    "identifier selector_expression index_expression slice_expression binary_expression variadic_argument "
    "unary_expression parenthesized_expression type_assertion_expression type_conversion_expression composite_literal"
)
_ERRORS = frozenset({b"err", b"nil", b"e"})
_SPLITTING = frozenset(
    ("strings.Cut", "os.LookupEnv", "path/filepath.Split", "path.Split", "net.SplitHostPort", "strings.CutPrefix")
)
"""Functions whose second result is made of what they are given too."""


class Program(Named):
    """A text with what is known of its values."""

    def type_of(self, node: Node) -> str:
        """Return an expression's type, as far as it is known, without following what its value is made of."""
        kind = node.type
        if kind == "identifier":
            name = self.text(node)
            declared = self.names.declaration(name, node.start_byte) if name in self.names else None
            if declared is not None and declared.type is not None:
                return self.type_name(declared.type)
        elif kind == "composite_literal":
            return self.type_name(node.child_by_field_name("type"))
        elif kind == "call_expression":
            call = self.call_of.get(node.id)
            if call is not None and call.receiver is None and call.name in self.packaged:
                return calling.type_of(call.name)
        return self.value(node).type

    def receiver_type(self, call: Call) -> str:
        """Return the type of what a method is called on."""
        return "" if call.receiver is None else self.type_of(call.receiver)

    def may_carry(self, node: Node) -> bool:
        """Whether an argument can hold anything from outside: no literal does, and no result of an unknown function."""
        kind = node.type
        if kind in _HOLDING:
            return not (kind == "identifier" and self.raw(node) in _ERRORS)
        if kind != "call_expression":
            return False
        call = self.call_of.get(node.id)
        return call is None or call.name not in self.packaged or calling.may_carry(call.name)

    def _call(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        return self.results(node, 0, bindings, depth)

    def results(self, node: Node, index: int, bindings: Bindings | None = None, depth: int = 0) -> Value:
        """Return what is known of one of the results of an expression, counted from 0."""
        call = self.call_of.get(node.id) if node.type == "call_expression" else None
        if call is None:
            return self.value(node, bindings, depth) if index == 0 else UNKNOWN
        function = self._own(call, bindings, depth)
        if function is not None:
            return self._returned(function, call, index, bindings, depth)
        if index > 0:
            return self._further(call, index, bindings, depth)
        receiver = None if call.receiver is None else self.value(call.receiver, bindings, depth)
        if call.name in {"append", "string", "new", "make", "min", "max", ""}:
            return self._builtin(call, bindings, depth)
        given = self._given(call, bindings, depth) if calling.reads_arguments(call.name) else ()
        found = calling.result(call.name, receiver, given, self.line(node))
        if found.node is None and found.constants is None:
            return Value(None, found.text, found.source, found.clean, found.type, node, bindings, found.number)
        return found

    def _further(self, call: Call, index: int, bindings: Bindings | None, depth: int) -> Value:
        """A result of another's function behind its first; mostly an error."""
        if call.receiver is not None and call.name == ".FormFile" and index == 1:
            found = self.value(call.receiver, bindings, depth)
            return Value(source=found.source, type="mime/multipart.FileHeader")
        if call.name not in _SPLITTING:
            return UNKNOWN
        return calling.result(call.name, None, self._given(call, bindings, depth), self.line(call.node))

    def _given(self, call: Call, bindings: Bindings | None, depth: int) -> list[Value]:
        return [self.value(argument, bindings, depth) for argument in call.arguments[:MAX_OPERANDS]]

    def _own(self, call: Call, bindings: Bindings | None, depth: int) -> Function | None:
        """Return the function or method of the text that is called, if it is one."""
        if call.function.type == "func_literal":
            return self.seen.function_of.get(call.function.id)
        if call.receiver is not None:
            function = self.named_function(call.name[1:])
            return function if function is not None and function.receiver else None
        if "." in call.name or not call.name:
            return None
        function = self.named_function(call.name)
        if function is None and call.name in self.names:
            made = self.value(call.function, bindings, depth).node
            function = self.seen.function_of.get(made.id) if made is not None else None
        return function

    def _returned(self, function: Function, call: Call, index: int, bindings: Bindings | None, depth: int) -> Value:
        given: Bindings = {} if function.name or bindings is None else dict(bindings)
        for at, (name, type_) in enumerate(function.parameters):
            if at < len(call.arguments):
                value = self.value(call.arguments[at], bindings, depth)
                number = value.number or self.type_name(type_) in NUMERIC
                given[name] = value if number == value.number else A_NUMBER
        found: list[Value] = []
        for returned in function.returns[:MAX_CALLERS]:
            items = returned.named_children if returned.type == "expression_list" else [returned]
            if index < len(items):
                found.append(self.value(items[index], given, depth))
            elif len(items) == 1:
                found.append(self.results(items[0], index, given, depth))
        return either([value for value in found if value.constants != (None,)] or [UNKNOWN])

    def _builtin(self, call: Call, bindings: Bindings | None, depth: int) -> Value:
        if call.name == "make":
            type_ = self.type_name(call.arguments[0]) if call.arguments else ""
            return Value(clean=EVERYWHERE, type=type_, node=call.node, bindings=bindings)
        if call.name == "new":
            return self._zero(self.type_name(call.arguments[0]) if call.arguments else "")
        given = self._given(call, bindings, depth)
        if call.name == "string" and given:
            return given[0]._replace(type="string", node=None, bindings=None)
        if call.name == "append":
            found = passed(given, type_=given[0].type if given else "")
            harmless = all(value.harmless for value in given)
            return Value(source=found.source, clean=EVERYWHERE if harmless else found.clean, type=found.type)
        return passed(given)
