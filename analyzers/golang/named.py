"""Names and fields as values: what was assigned, passed in, read into or written to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.deadline import Deadline
from analyzers.golang import calling, knowledge
from analyzers.golang.expressions import Expressions
from analyzers.golang.scopes import Definition, Function, How
from analyzers.golang.values import (
    A_NUMBER,
    EVERYWHERE,
    NETWORK,
    PARAMETER,
    REQUEST,
    UNKNOWN,
    Bindings,
    Source,
    Value,
    either,
    joined,
    of,
    passed,
)
from analyzers.golang.words import words
from analyzers.source import Source as Text
from analyzers.syntax.reading import Reading

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CALLERS = 8
NUMERIC = words(
    "int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr float32 float64 bool byte rune "
    "error time.Duration time.Time time.Month"
)
_CAPABLE = words("context.Context net/http.ResponseWriter net/http.Client database/sql.DB database/sql.Tx testing.T")
"""Types of parameters that hold no data of anybody's."""


class Named(Expressions):
    """The part of a program that follows names."""

    def __init__(self, source: Text, reading: Reading, root: Node, deadline: Deadline) -> None:
        super().__init__(source, reading, root, deadline)
        self._of_definition: dict[int, Value] = {}
        self._structs: dict[str, dict[str, str]] = {}

    def _identifier(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        name = self.text(node)
        if name not in self.names:
            return UNKNOWN
        return either(self._reaching(name, node.start_byte, bindings, depth))

    def _reaching(self, name: str, at: int, bindings: Bindings | None, depth: int) -> list[Value]:
        values: list[Value] = []
        written: list[Value] = []
        for definition in self.names.reaching(name, at):
            found = self._defined(definition, bindings, depth)
            (written if definition.how is How.WRITTEN else values).append(found)
        if not written:
            return values
        whole = either(values) if values else UNKNOWN
        parts = [whole, *reversed(written)] if whole.source is not None or whole.known else written[::-1]
        content = passed(parts)
        text = "".join(part.pattern for part in parts)
        clean = EVERYWHERE if all(part.harmless for part in parts) else content.clean
        return [Value(None, text, content.source, clean, whole.type, whole.node, whole.bindings)]

    def _defined(self, definition: Definition, bindings: Bindings | None, depth: int) -> Value:
        if bindings is not None:
            return self._worked_out(definition, bindings, depth)
        known = self._of_definition.get(id(definition))
        if known is None:
            known = self._worked_out(definition, None, depth)
            self._of_definition[id(definition)] = known
        return known

    def _worked_out(self, definition: Definition, bindings: Bindings | None, depth: int) -> Value:
        how, value = definition.how, definition.value
        if how is How.PARAMETER:
            return self._parameter(definition, bindings, depth)
        type_ = self.type_name(definition.type) if definition.type is not None else ""
        if value is None:
            return self._zero(type_)
        if how is How.SET or how is How.ADDED:
            return self._assigned(definition, value, type_, bindings, depth)
        if how is How.FILLED:
            return self._filled(definition, value, bindings, depth)
        if how is How.WRITTEN:
            return self._written(value, bindings, depth)
        return self._ranged(how, self.value(value, bindings, depth), depth)

    def _assigned(
        self, definition: Definition, value: Node, type_: str, bindings: Bindings | None, depth: int
    ) -> Value:
        found = self.results(value, max(definition.index, 0), bindings, depth)
        if definition.how is How.ADDED:
            before = either(self._reaching(definition.name, definition.start - 1, bindings, depth) or [UNKNOWN])
            return joined([before, found])
        if type_ and type_ != found.type:
            return found._replace(type=type_, number=found.number or type_ in NUMERIC)
        return found

    def _ranged(self, how: How, base: Value, depth: int) -> Value:
        if how is How.ELEMENT:
            return self._element(base, None, depth)
        return A_NUMBER if base.type.startswith("[]") or base.number else passed([base])

    def _written(self, value: Node, bindings: Bindings | None, depth: int) -> Value:
        """What ``b.WriteString(x)`` and ``Fprintf(&b, …)`` add."""
        call = self.call_of.get(value.id) if value.type == "call_expression" else None
        if call is None or not call.name.startswith(("fmt.Fprint", "io.WriteString")):
            return self.value(value, bindings, depth)
        given = [self.value(argument, bindings, depth) for argument in call.arguments[1:]]
        return calling.formatted(given) if call.name == "fmt.Fprintf" else joined(given)

    def _zero(self, type_: str) -> Value:
        if type_ == "string":
            return of("", "string")
        if type_ in NUMERIC:
            return of(0, type_)
        return Value(clean=EVERYWHERE, type=type_)

    def _parameter(self, definition: Definition, bindings: Bindings | None, depth: int) -> Value:
        if bindings is not None and definition.name in bindings:
            return bindings[definition.name]
        type_ = self.type_name(definition.type)
        if type_ in NUMERIC:
            return Value(type=type_, number=True)
        line = 1 if definition.type is None else self.line(definition.type)
        request = knowledge.REQUESTS.get(type_)
        if request is not None:
            return Value(source=Source(REQUEST, request, line), type=type_)
        if type_ in knowledge.CONTEXTS or type_ in knowledge.PEERS or type_ in _CAPABLE:
            return Value(type=type_)
        own = Source(PARAMETER, f"parameter {definition.name}", line)
        function = definition.scope.function
        outside = self._callers_source(function, definition.name, depth) if function is not None else None
        return Value(source=outside or own, type=type_)

    def _callers_source(self, function: Function, name: str, depth: int) -> Source | None:
        """Return where the text's own calls of the function take this argument from, if that is from outside."""
        worst: Source | None = None
        for value in self.passed_to(function, name, depth):
            source = value.from_outside("*")
            if source is not None and not value.clean and (worst is None or source.rank > worst.rank):
                worst = source
        return worst

    def passed_to(self, function: Function, name: str, depth: int = 0) -> list[Value]:
        """Return what the text's own calls of a function pass to a parameter of it."""
        callers = self.by_name.get(f".{function.name}" if function.receiver else function.name)
        if not callers or not function.name:
            return []
        index = next((at for at, (given, _) in enumerate(function.parameters) if given == name), -1)
        if index < 0:
            return []
        return [
            self.value(call.arguments[index], None, depth)
            for call in callers[:MAX_CALLERS]
            if index < len(call.arguments)
        ]

    def _filled(self, definition: Definition, value: Node, bindings: Bindings | None, depth: int) -> Value:
        """What ``Scan(&x)``, ``Decode(&x)``, ``Read(x)`` and their like put there."""
        call = self.call_of.get(value.id)
        if call is None:
            return UNKNOWN
        declared = self.names.declaration(definition.name, definition.start - 1)
        type_ = self.type_name(declared.type) if declared is not None else ""
        origin = knowledge.ORIGINS.get(call.name)
        if origin is not None:
            return Value(source=Source(*origin, self.line(value)), type=type_, number=type_ in NUMERIC)
        if call.receiver is not None:
            receiver = self.value(call.receiver, bindings, depth)
            if receiver.type in knowledge.CONTEXTS:
                return Value(source=Source(REQUEST, "the request", self.line(value)), type=type_)
            peer = knowledge.PEERS.get(receiver.type)
            if peer is not None:
                return Value(source=Source(*peer, self.line(value)), type=type_)
            return passed([receiver], type_=type_)
        if call.name.endswith("crypto/rand.Read"):
            return Value(clean=EVERYWHERE)
        given = [self.value(argument, bindings, depth) for argument in call.arguments[:1]]
        found = passed(given, type_=type_)
        return Value(source=found.source, clean=found.clean, type=type_, number=type_ in NUMERIC)

    def _selector(self, node: Node, bindings: Bindings | None, depth: int) -> Value:
        name, operand, _ = self.member(node)
        if operand is None:
            return self._member(name, node)
        return self._field(node, name[1:], operand, bindings, depth)

    def _member(self, name: str, node: Node) -> Value:
        origin = knowledge.ORIGINS.get(name)
        if origin is not None:
            return Value(source=Source(*origin, self.line(node)), type="[]string" if name == "os.Args" else "")
        if name in knowledge.CONSTANTS:
            return of(knowledge.CONSTANTS[name])
        if name == "runtime.GOOS":
            return Value(clean=EVERYWHERE)
        if name == "crypto/rand.Reader":
            return Value(clean=EVERYWHERE, type=name)
        return Value(type=knowledge.TYPES.get(name, ""))

    def _field(self, node: Node, name: str, operand: Node, bindings: Bindings | None, depth: int) -> Value:
        base = self.value(operand, bindings, depth)
        found = self._field_sets(node, name, operand, bindings, depth)
        if base.node is not None and base.node.type in {"composite_literal", "literal_value"}:
            found.append(self._of_literal(base, name, depth))
            return either([*found, *self._set_elsewhere(base, name, operand, depth)])
        if found:
            return either(found)
        if base.type in knowledge.CONTEXTS:
            reads = name in {"Request", "Params"}
            return Value(source=Source(REQUEST, "the request", self.line(node))) if reads else UNKNOWN
        if name in knowledge.REQUEST_HARMLESS and base.source is not None and base.source.rank == REQUEST:
            return UNKNOWN
        if (base.type, name) in knowledge.ENTRY_NAMES:
            return Value(source=Source(NETWORK, knowledge.AN_ENTRY, self.line(node)), type="string")
        if base.source is None:
            return Value(clean=base.clean, type=self._field_type(base.type, name))
        type_ = self._field_type(base.type, name)
        return Value(source=base.source, clean=base.clean, type=type_, number=type_ in NUMERIC)

    def _field_sets(self, node: Node, name: str, operand: Node, bindings: Bindings | None, depth: int) -> list[Value]:
        sets = self.seen.field_sets.get(name)
        if not sets:
            return []
        text, at = self.text(operand), node.start_byte
        root = text.partition(".")[0]
        declaration = self.names.declaration(root, at)
        found: list[Value] = []
        for one in reversed(sets):
            anywhere = declaration is not None and declaration.scope.outer is None
            if one.start >= at and not anywhere:
                continue
            if self.text(one.operand) != text or self.names.declaration(root, one.node.start_byte) is not declaration:
                continue
            found.append(self.results(one.value, 0, bindings, depth))
            if one.scope.start <= at < one.scope.end and one.scope.outer is not None:
                break
        return found

    def _set_elsewhere(self, base: Value, name: str, operand: Node, depth: int) -> list[Value]:
        """What a function that made the object set the field to, under its own name for it."""
        text = self.text(operand)
        return [
            self.results(one.value, 0, base.bindings, depth)
            for one in self.seen.field_sets.get(name, ())
            if base.node is not None
            and self.text(one.operand) != text
            and self._made(one.operand, depth) == base.node.id
        ]

    def _made(self, operand: Node, depth: int) -> int:
        made = self.value(operand, None, depth).node
        return 0 if made is None else made.id

    def _of_literal(self, base: Value, name: str, depth: int) -> Value:
        literal = base.node
        assert literal is not None  # noqa: S101 - asked for by the caller
        fields = self.fields(literal)
        if name in fields:
            return self.value(fields[name], base.bindings, depth)
        if not fields:
            position = self._position(base.type, name)
            elements = self.elements(literal)
            if 0 <= position < len(elements):
                return self.value(elements[position], base.bindings, depth)
        return Value(clean=EVERYWHERE, type=self._field_type(base.type, name))

    def _struct_fields(self, type_: str) -> dict[str, str]:
        """The types of a struct's fields by their names, in order, where the text declares it."""
        known = self._structs.get(type_)
        if known is None:
            known = self._structs[type_] = dict(self._declared_fields(type_.removeprefix("[]")))
        return known

    def _declared_fields(self, type_: str) -> Iterator[tuple[str, str]]:
        declared = self.seen.types.get(type_)
        if declared is not None and declared.type == "struct_type" and declared.named_children:
            for item in declared.named_children[0].named_children:
                kind = self.type_name(item.child_by_field_name("type"))
                for name in item.children_by_field_name("name"):
                    yield self.text(name), kind

    def _position(self, type_: str, name: str) -> int:
        names = [*self._struct_fields(type_)]
        return names.index(name) if name in names else -1

    def _field_type(self, type_: str, name: str) -> str:
        known = knowledge.FIELDS.get((type_, name))
        if known is not None:
            return known
        return self._struct_fields(type_).get(name, "") if type_ else ""
