"""One walk over a Go tree: what it calls, defines, declares and branches on, each with the block it stands in."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from analyzers.deadline import Deadline
from analyzers.golang.grammar import GRAMMAR, fields
from analyzers.golang.scopes import Definition, Function, How, Scope
from analyzers.golang.seen import Branch, Call, FieldSet, Seen
from analyzers.golang.words import words
from analyzers.syntax.grammar import nodes

if TYPE_CHECKING:
    from tree_sitter import Node

_ERROR = 65_535
_CHECK_EVERY = 4096
_MAX_NODES = 3_000_000
_FILLING = words(
    "Scan Scanln Scanf Fscan Fscanln Fscanf Sscan Sscanln Sscanf Decode DecodeElement Unmarshal "
    "UnmarshalStrict Read ReadFull ReadAtLeast ReadAt StringVar Bind BindJSON BindQuery BindUri BindXML "
    "ShouldBind ShouldBindJSON ShouldBindQuery ShouldBindUri ShouldBindXML BodyParser QueryParser "
    "ParamsParser ReadJSON"
)
_WRITING = frozenset({"WriteString", "Write", "WriteByte", "WriteRune", "Add", "Set"})
_PRINTING = frozenset({"Fprintf", "Fprint", "Fprintln", "WriteString"})
_EFFECTIVE = _FILLING | _WRITING | _PRINTING


def walk(data: bytes, root: Node, deadline: Deadline) -> Seen:
    """Walk once. Stops at the deadline and says where."""
    return _Walk(data, root).run(root, deadline)


class _Walk:
    def __init__(self, data: bytes, root: Node) -> None:
        self.data = data
        self.seen = Seen()
        self.scope = Scope(0, root.end_byte + 1, None, None)
        self.places: dict[int, str] = {}
        self.fields = fields()

    def run(self, root: Node, deadline: Deadline) -> Seen:
        handlers = _handlers()
        for count, node in enumerate(nodes(root)):
            kind = node.kind_id
            handler = handlers[kind] if kind < _ERROR else None
            if handler is not None:
                at = node.start_byte
                while at >= self.scope.end and self.scope.outer is not None:
                    self.scope = self.scope.outer
                handler(self, node)
            if not count % _CHECK_EVERY and (deadline.passed() or count > _MAX_NODES):
                self.seen.cut_at = node.start_point[0] + 1
                break
        self.seen.names.sort()
        return self.seen

    def text(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def push(self, node: Node, function: Function | None = None) -> Scope:
        scope = self.scope
        self.scope = Scope(node.start_byte, node.end_byte, scope, function or scope.function)
        return self.scope

    def block(self, node: Node) -> None:
        self.push(node)

    def import_(self, node: Node) -> None:
        path = node.child_by_field_id(self.fields.path)
        name = node.child_by_field_id(self.fields.name)
        if path is not None:
            spec = self.text(path)[1:-1]
            self.seen.packages.add(spec, None if name is None else self.text(name))
            self.seen.imports.append((spec, node))

    def function(self, node: Node) -> None:
        name = node.child_by_field_id(self.fields.name)
        function = Function(
            name="" if name is None else self.text(name),
            node=node,
            start=node.start_byte,
            end=node.end_byte,
            result=node.child_by_field_id(self.fields.result),
            outer=self.scope.function,
        )
        scope = self.push(node, function)
        receiver = node.child_by_field_id(self.fields.receiver)
        if receiver is not None:
            self._parameters(receiver, function, scope, own=True)
        parameters = node.child_by_field_id(self.fields.parameters)
        if parameters is not None:
            self._parameters(parameters, function, scope, own=False)
        self.seen.names.functions.append(function)
        if name is None:
            self.seen.function_of[node.id] = function
        else:
            self.seen.functions[function.name].append(function)

    def _parameters(self, node: Node, function: Function, scope: Scope, *, own: bool) -> None:
        for parameter in node.named_children:
            type_ = parameter.child_by_field_id(self.fields.type)
            names = parameter.children_by_field_id(self.fields.name)
            if own:
                function.receiver = "" if type_ is None else self.text(type_).lstrip("*")
            for name in names:
                text = self.text(name)
                if not own:
                    function.parameters.append((text, type_))
                self.define(text, scope.start, How.PARAMETER, declares=True, type_=type_, scope=scope)
            if not names and not own:
                function.parameters.append(("", type_))

    def define(
        self,
        name: str,
        start: int,
        how: How,
        *,
        declares: bool,
        value: Node | None = None,
        index: int = -1,
        type_: Node | None = None,
        scope: Scope | None = None,
        constant: bool = False,
    ) -> None:
        if name != "_":
            self.seen.names.add(
                Definition(name, start, scope or self.scope, how, declares, value, index, type_, constant)
            )

    def short(self, node: Node) -> None:
        left, right = node.child_by_field_id(self.fields.left), node.child_by_field_id(self.fields.right)
        if left is not None and right is not None:
            names = [item for item in left.named_children if item.type == "identifier"]
            self._pairs(names, right.named_children, node.end_byte, declares=True)

    def _pairs(self, names: list[Node], values: list[Node], start: int, *, declares: bool) -> None:
        for index, name in enumerate(names):
            text = self.text(name)
            if len(values) == len(names):
                self.define(text, start, How.SET, declares=declares, value=values[index])
            elif values:
                self.define(text, start, How.SET, declares=declares, value=values[0], index=index)

    def assignment(self, node: Node) -> None:
        left, right = node.child_by_field_id(self.fields.left), node.child_by_field_id(self.fields.right)
        if left is None or right is None:
            return
        operator = node.child_by_field_id(self.fields.operator)
        targets, values = left.named_children, right.named_children
        how = How.ADDED if operator is not None and self.text(operator) == "+=" else How.SET
        for index, target in enumerate(targets):
            if not values:
                break
            value, which = (values[index], -1) if len(values) == len(targets) else (values[0], index)
            if target.type == "identifier":
                self.define(self.text(target), node.end_byte, how, declares=False, value=value, index=which)
            elif target.type == "selector_expression":
                self._field(target, value, node.end_byte, filled=False)
            elif target.type == "index_expression":
                self._into(target, value, node.end_byte)

    def _field(self, target: Node, value: Node, start: int, *, filled: bool) -> None:
        operand, name = target.child_by_field_id(self.fields.operand), target.child_by_field_id(self.fields.field)
        if operand is not None and name is not None:
            self.seen.field_sets[self.text(name)].append(FieldSet(target, operand, value, start, self.scope, filled))

    def _into(self, target: Node, value: Node, start: int) -> None:
        operand = target.child_by_field_id(self.fields.operand)
        if operand is not None and operand.type == "identifier":
            self.define(self.text(operand), start, How.WRITTEN, declares=False, value=value)

    def var(self, node: Node) -> None:
        self._spec(node, constant=False)

    def const(self, node: Node) -> None:
        self._spec(node, constant=True)

    def _spec(self, node: Node, *, constant: bool) -> None:
        type_, value = node.child_by_field_id(self.fields.type), node.child_by_field_id(self.fields.value)
        names = [name for name in node.children_by_field_id(self.fields.name) if name.type == "identifier"]
        values = value.named_children if value is not None else []
        for index, name in enumerate(names):
            which = -1 if len(values) == len(names) else index
            self.define(
                self.text(name),
                node.end_byte,
                How.SET if values else How.NONE,
                declares=True,
                value=values[index if which < 0 else 0] if values else None,
                index=which,
                type_=type_,
                constant=constant,
            )

    def range_(self, node: Node) -> None:
        left, right = node.child_by_field_id(self.fields.left), node.child_by_field_id(self.fields.right)
        if left is None or right is None:
            return
        declares = any(child.type == ":=" for child in node.children)
        for how, name in zip((How.KEY, How.ELEMENT), left.named_children, strict=False):
            if name.type == "identifier":
                self.define(self.text(name), node.end_byte, how, declares=declares, value=right)

    def receive(self, node: Node) -> None:
        left, right = node.child_by_field_id(self.fields.left), node.child_by_field_id(self.fields.right)
        if left is not None and right is not None:
            names = [item for item in left.named_children if item.type == "identifier"]
            declares = any(child.type == ":=" for child in node.children)
            self._pairs(names[:1], [right], node.end_byte, declares=declares)

    def type_switch(self, node: Node) -> None:
        self.push(node)
        alias, value = node.child_by_field_id(self.fields.alias), node.child_by_field_id(self.fields.value)
        if alias is not None and value is not None:
            for name in alias.named_children:
                self.define(self.text(name), value.end_byte, How.SET, declares=True, value=value)

    def type_(self, node: Node) -> None:
        name, type_ = node.child_by_field_id(self.fields.name), node.child_by_field_id(self.fields.type)
        if name is not None and type_ is not None:
            self.seen.types.setdefault(self.text(name), type_)

    def return_(self, node: Node) -> None:
        if self.scope.function is not None and node.named_children:
            self.scope.function.returns.append(node.named_children[0])

    def statement(self, node: Node) -> None:
        self._place(node, "statement")

    def go(self, node: Node) -> None:
        self.seen.goroutines.append((node, self.scope))
        self._place(node, "go")

    def defer(self, node: Node) -> None:
        self._place(node, "defer")

    def _place(self, node: Node, place: str) -> None:
        for child in node.named_children:
            self.places[child.id] = place

    def if_(self, node: Node) -> None:
        scope = self.push(node)
        self.seen.branches.append(Branch(node, scope))

    def switch(self, node: Node) -> None:
        scope = self.push(node)
        self.seen.branches.append(Branch(node, scope))

    def for_(self, node: Node) -> None:
        scope = self.push(node)
        self.seen.loops.append((node, scope))

    def literal(self, node: Node) -> None:
        self.seen.literals.append((node, self.scope))

    def subscript(self, node: Node) -> None:
        self.seen.subscripts.append((node, self.scope))

    def comment(self, node: Node) -> None:
        self.seen.comments.append(node)

    def call(self, node: Node) -> None:
        numbers = self.fields
        function = node.child_by_field_id(numbers.function)
        if function is None:
            return
        call = Call(node, function, self.scope, self.places.get(node.id, ""))
        self.seen.calls.append(call)
        kind = function.type
        if kind == "parenthesized_expression" and function.named_child_count:
            function = function.named_children[0]
            kind = function.type
        if kind == "selector_expression":
            self._selected(call, function)
        elif kind == "identifier":
            call.name = self.text(function)
            if self.seen.packages.dotted and call.name[:1].isupper():
                call.name = f"{self.seen.packages.dotted[0]}.{call.name}"

    def _selected(self, call: Call, function: Node) -> None:
        operand = function.child_by_field_id(self.fields.operand)
        field_ = function.child_by_field_id(self.fields.field)
        member = "" if field_ is None else self.text(field_)
        path = None
        if operand is not None and operand.type == "identifier":
            base = self.text(operand)
            names = self.seen.names
            if base not in names or names.declaration(base, operand.start_byte) is None:
                # Only of ``rand`` the number of arguments tells which package it is.
                given = len(call.arguments) if base == "rand" else -1
                path, call.sure = self.seen.packages.path(base, member, given)
        if path is None:
            call.name, call.receiver, call.sure = f".{member}", operand, True
        else:
            call.name = f"{path}.{member}"
        if member in _EFFECTIVE:
            self._effects(call, member, function)

    def _effects(self, call: Call, name: str, function: Node) -> None:
        """Take note of what a call changes: what it was given the address of, or what it is a method of."""
        if name in _FILLING:
            for argument in call.arguments:
                self._filled(call, argument, bare=name.startswith("Read"))
        elif name in _PRINTING and len(call.arguments) > 1:
            target = _address(call.arguments[0]) or call.arguments[0]
            if target.type == "identifier":
                self.define(self.text(target), call.node.end_byte, How.WRITTEN, declares=False, value=call.node)
        elif name in _WRITING and call.arguments:
            receiver = function.child_by_field_id(self.fields.operand)
            if receiver is not None and receiver.type == "identifier":
                value = call.arguments[-1]
                self.define(self.text(receiver), call.node.end_byte, How.WRITTEN, declares=False, value=value)

    def _filled(self, call: Call, argument: Node, *, bare: bool) -> None:
        target = _address(argument) or (argument if bare else None)
        if target is None:
            return
        if target.type == "identifier":
            self.define(self.text(target), call.node.end_byte, How.FILLED, declares=False, value=call.node)
        elif target.type == "selector_expression":
            self._field(target, call.node, call.node.end_byte, filled=True)


def _address(node: Node) -> Node | None:
    """What ``&x`` is the address of."""
    if node.type == "unary_expression" and node.child_count and node.children[0].type == "&":
        return node.child_by_field_id(fields().operand)
    return None


_Handler = Callable[[_Walk, "Node"], None]


@cache
def _handlers() -> list[_Handler | None]:
    """What to do with a node, by the number of its kind."""
    by_kind: dict[str, _Handler] = {
        "block": _Walk.block,
        "select_statement": _Walk.block,
        "communication_case": _Walk.block,
        "expression_case": _Walk.block,
        "type_case": _Walk.block,
        "default_case": _Walk.block,
        "import_spec": _Walk.import_,
        "function_declaration": _Walk.function,
        "method_declaration": _Walk.function,
        "func_literal": _Walk.function,
        "short_var_declaration": _Walk.short,
        "assignment_statement": _Walk.assignment,
        "var_spec": _Walk.var,
        "const_spec": _Walk.const,
        "range_clause": _Walk.range_,
        "receive_statement": _Walk.receive,
        "type_switch_statement": _Walk.type_switch,
        "expression_switch_statement": _Walk.switch,
        "type_spec": _Walk.type_,
        "return_statement": _Walk.return_,
        "expression_statement": _Walk.statement,
        "go_statement": _Walk.go,
        "defer_statement": _Walk.defer,
        "if_statement": _Walk.if_,
        "for_statement": _Walk.for_,
        "composite_literal": _Walk.literal,
        "index_expression": _Walk.subscript,
        "slice_expression": _Walk.subscript,
        "comment": _Walk.comment,
        "call_expression": _Walk.call,
    }
    handlers: list[_Handler | None] = [None] * GRAMMAR.language.node_kind_count
    for name, number in zip(by_kind, GRAMMAR.kinds(*by_kind), strict=True):
        handlers[number] = by_kind[name]
    return handlers
