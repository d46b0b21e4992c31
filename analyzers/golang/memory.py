"""Rules about memory and numbers: unsafe, lost bits, indexes out of range, aliases of loop variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.program import Program
from analyzers.golang.scopes import How
from analyzers.golang.seen import Call
from analyzers.golang.values import Value
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_UNSAFE = ("Pointer", "String", "StringData", "Slice", "SliceData", "Add")


def unsafe_memory(program: Program) -> Iterator[Hit]:
    """Memory is used past Go's types, by package ``unsafe`` or by C.

    Mistakes there overwrite other values or read freed ones, and the compiler says nothing. Keep such code small and
    reviewed; most uses have a safe form today.
    """
    if b"unsafe" in program.data:
        for call in program.calls(*(f"unsafe.{name}" for name in _UNSAFE)):
            yield program.hit(call.node, f"{program.text(call.function)} goes past Go's types")
    if b'"C"' in program.data:
        for spec, node in program.seen.imports:
            if spec == "C":
                yield program.hit(node, "this program holds C code, which nothing checks", also=())


_BITS = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "rune": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "int": (-(1 << 63), (1 << 63) - 1),
    "uint8": (0, (1 << 8) - 1),
    "byte": (0, (1 << 8) - 1),
    "uint16": (0, (1 << 16) - 1),
    "uint32": (0, (1 << 32) - 1),
    "uint64": (0, (1 << 64) - 1),
    "uint": (0, (1 << 64) - 1),
    "uintptr": (0, (1 << 64) - 1),
}
_PARSED = {"strconv.Atoi": "int", "strconv.ParseInt": "int64", "strconv.ParseUint": "uint64"}


def lost_bits(program: Program, call: Call) -> Iterator[Hit]:
    """A number is converted to a type that does not hold all its values.

    Go cuts the upper bits off and says nothing: ``int32(n)`` of 4,294,967,297 is 1, and a length or a price is wrong.
    Give the size to ``strconv.ParseInt(s, 10, 32)``, or compare with the limits before.

    Reported are results of ``strconv``, constants, and variables of a declared type, that no condition was asked about.
    """
    if len(call.arguments) != 1:
        return
    node = call.arguments[0]
    least, most = _BITS[call.name]
    value = program.value(node)
    if value.known:
        numbers = [constant for constant in value.constants or () if isinstance(constant, int)]
        if node.type == "identifier" and any(not least <= number <= most for number in numbers):
            yield program.hit(call.node, f"{call.name} cannot hold this number")
        return
    parsed = _parsed(program, value)
    wide = parsed or value.type
    limits = _limits(program, value, wide)
    if limits is None or (limits[0] >= least and limits[1] <= most) or _asked_about(program, node):
        return
    yield program.hit(
        call.node,
        f"{call.name} cannot hold every {wide}",
        also=("G109",) if parsed else ("G115",),
        severity=None if parsed else Severity.LOW,
        confidence=None if parsed else Confidence.LOW,
    )


def _parsed(program: Program, value: Value) -> str:
    """The type that a function of ``strconv`` returned; empty where the value is from elsewhere."""
    made = value.node
    call = program.call_of.get(made.id) if made is not None and made.type == "call_expression" else None
    return _PARSED.get(call.name, "") if call is not None else ""


def _limits(program: Program, value: Value, type_: str) -> tuple[int, int] | None:
    made = value.node
    call = program.call_of.get(made.id) if made is not None else None
    if call is not None and call.name.startswith("strconv.Parse") and len(call.arguments) > 2:  # noqa: PLR2004
        bits = program.argument(call, 2).constant
        if isinstance(bits, int) and 0 < bits < 64:  # noqa: PLR2004 - the widest
            signed = call.name == "strconv.ParseInt"
            return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return _BITS.get(type_)


def _asked_about(program: Program, node: Node) -> bool:
    """Whether a condition in the function compares the number, or it is no plain name."""
    if node.type != "identifier":
        return True
    name = program.raw(node)
    if not program.afford(2 * len(program.seen.branches) + len(program.seen.loops)):
        return True
    for branch in program.seen.branches:
        body = branch.node.child_by_field_name("consequence")
        end = body.start_byte if body is not None else min(branch.node.end_byte, branch.node.start_byte + 200)
        if branch.node.start_byte <= node.start_byte < end:
            continue
        condition = program.data[branch.node.start_byte : end]
        if name in condition and any(sign in condition for sign in (b"<", b">", b"==", b"switch")):
            return True
    return any(name in program.data[loop.start_byte : loop.start_byte + 120] for loop, _ in program.seen.loops)


def out_of_range(program: Program) -> Iterator[Hit]:
    """An element is taken that the array or slice does not have: the program ends there.

    Reported where both the length and the index are constant, and nothing asks about the length before.
    """
    for node, _ in program.seen.subscripts:
        operand = node.child_by_field_name("operand")
        if operand is None or operand.type != "identifier":
            continue
        index, most = _outermost(program, node)
        if index is None:
            continue
        length = _length(program, operand, capacity=node.type == "slice_expression")
        if length is None or _length_asked(program, operand, node):
            continue
        if index < 0 or index > length - (0 if most else 1):
            yield program.hit(node, f"index {index} is out of range: there are {length}")


def _outermost(program: Program, node: Node) -> tuple[int | None, bool]:
    """The greatest index that is used, and whether it may equal the length."""
    if node.type == "index_expression":
        index = node.child_by_field_name("index")
        return _number(program, index), False
    bounds = [node.child_by_field_name(name) for name in ("start", "end", "capacity")]
    numbers = [number for number in (_number(program, bound) for bound in bounds) if number is not None]
    return (max(numbers), True) if numbers else (None, True)


def _number(program: Program, node: Node | None) -> int | None:
    constant = program.value(node).constant if node is not None else None
    return constant if isinstance(constant, int) and not isinstance(constant, bool) else None


def _length(program: Program, operand: Node, *, capacity: bool) -> int | None:
    """How many elements there are, where one ``make``, array type or literal says so."""
    reaching = program.names.reaching(program.text(operand), operand.start_byte)
    setting = [definition for definition in reaching if definition.how is not How.WRITTEN]
    appended = any(
        definition.how is How.WRITTEN and definition.value is not None and definition.value.type == "call_expression"
        for definition in reaching
    )
    if len(setting) != 1 or appended:
        return None
    definition = setting[0]
    if definition.type is not None and definition.type.type == "array_type":
        return _number(program, definition.type.child_by_field_name("length"))
    value = definition.value
    if definition.how is not How.SET or value is None:
        return None
    call = program.call_of.get(value.id)
    if call is not None and call.name == "make" and call.arguments and call.arguments[0].type == "slice_type":
        given = call.arguments[-1] if capacity else call.arguments[1] if len(call.arguments) > 1 else None
        return _number(program, given)
    if value.type == "composite_literal":
        kind = value.child_by_field_name("type")
        if kind is not None and kind.type == "array_type":
            return _number(program, kind.child_by_field_name("length"))
        body = value.child_by_field_name("body")
        plain = body is not None and all(item.type == "literal_element" for item in body.named_children)
        if kind is not None and kind.type == "slice_type" and body is not None and plain:
            return body.named_child_count
    return None


def _length_asked(program: Program, operand: Node, node: Node) -> bool:
    name = program.raw(operand)
    if not program.afford(len(program.seen.branches)):
        return True
    for branch in program.seen.branches:
        if branch.node.start_byte < node.start_byte < branch.node.end_byte:
            condition = program.data[branch.node.start_byte : branch.node.start_byte + 200].partition(b"{")[0]
            if b"len(" + name in condition or b"cap(" + name in condition:
                return True
    return False


def loop_alias(program: Program) -> Iterator[Hit]:
    """The address of a loop's variable is taken: before Go 1.22 all rounds share one variable.

    What was kept then shows the last round's value. Since Go 1.22 (as ``go.mod`` says it) every round has its own.
    """
    for loop, _ in program.seen.loops:
        clause = next((child for child in loop.named_children if child.type == "range_clause"), None)
        body = loop.child_by_field_name("body")
        name = _element_name(program, clause)
        if not name or body is None or b"&" not in program.raw(body):
            continue
        for taken, field in _addresses(program, body, name):
            if not (field and _is_pointer(program, clause)):
                yield program.hit(taken, f"before Go 1.22 &{name} is one address for all rounds")


def _element_name(program: Program, clause: Node | None) -> str:
    """What a loop calls the element, if it declares a variable for it."""
    left = clause.child_by_field_name("left") if clause is not None else None
    if clause is None or left is None or left.named_child_count < 2:  # noqa: PLR2004 - index and element
        return ""
    name = program.text(left.named_children[1])
    return name if name != "_" and any(child.type == ":=" for child in clause.children) else ""


def _addresses(program: Program, body: Node, name: str) -> Iterator[tuple[Node, bool]]:
    """Every ``&name`` and ``&name.field``."""
    pending = [body]
    while pending:
        node = pending.pop()
        if node.type == "unary_expression" and node.children[0].type == "&":
            operand = node.child_by_field_name("operand")
            field = operand is not None and operand.type == "selector_expression"
            while operand is not None and operand.type == "selector_expression":
                operand = operand.child_by_field_name("operand")
            if operand is not None and operand.type == "identifier" and program.text(operand) == name:
                yield node, field
        pending += reversed(node.named_children)


def _is_pointer(program: Program, clause: Node | None) -> bool:
    """Whether elements of what is ranged over are pointers, as far as its literal tells."""
    right = clause.child_by_field_name("right") if clause is not None else None
    made = program.value(right).node if right is not None else None
    kind = made.child_by_field_name("type") if made is not None else None
    element = kind.child_by_field_name("element") if kind is not None else None
    return element is not None and element.type == "pointer_type"


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH870",
        name="go-unsafe-memory",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=242,
        check=unsafe_memory,
        also=("G103",),
        on=(b"unsafe.", b'"C"'),
        hits=("p := unsafe.Pointer(&x)\n", "s := unsafe.String(p, n)\n", 'import "C"\n'),
        misses=("n := unsafe.Sizeof(x)\n", "unsafe := 1\n"),
    ),
    Rule(
        id="FH873",
        name="go-lost-bits",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=190,
        check=lost_bits,
        also=("G109", "G115"),
        on=tuple(_BITS),
        hits=(
            "n, err := strconv.Atoi(s)\nx := int32(n)\n",
            "var a uint32 = math.MaxUint32\nvar b = int32(a)\n",
            "func f(n int64) int8 { return int8(n) }\n",
            "n, err := strconv.ParseInt(s, 10, 64)\nx := int16(n)\n",
        ),
        misses=(
            "n, err := strconv.ParseInt(s, 10, 32)\nx := int32(n)\n",
            "n, err := strconv.Atoi(s)\nx := int64(n)\n",
            "func f(n int64) int8 {\n\tif n > 100 || n < 0 {\n\t\treturn 0\n\t}\n\treturn int8(n)\n}\n",
            "x := uint8(200)\n",
            "func f(n int8) int64 { return int64(n) }\n",
            "x := int32(y)\n",
        ),
    ),
    Rule(
        id="FH874",
        name="go-out-of-range",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=129,
        check=out_of_range,
        also=("G602",),
        on=(b"[",),
        hits=(
            "s := make([]int, 4)\nx := s[5]\n",
            "func f() {\n\tvar a [3]int\n\ta[3] = 1\n}\n",
            "s := make([]byte, 0, 4)\nt := s[:5]\n",
            'a := []string{"x"}\ni := -1\nb := a[i]\n',
        ),
        misses=(
            "s := make([]int, 4)\nx := s[3]\n",
            "s := make([]byte, 0, 4)\nt := s[:4]\n",
            "s := make([]int, n)\nx := s[5]\n",
            "s := []int{}\nif len(s) > 3 {\n\tx := s[3]\n}\n",
            "s := make([]int, 0)\ns = append(s, 1)\nx := s[0]\n",
        ),
    ),
    Rule(
        id="FH875",
        name="go-loop-alias",
        severity=Severity.INFO,
        confidence=Confidence.LOW,
        cwe=118,
        check=loop_alias,
        also=("G601",),
        on=(b"range ",),
        hits=("for _, v := range xs {\n\tkeep(&v)\n}\n", "for _, v := range xs {\n\tkeep(&v.name)\n}\n"),
        misses=(
            "for i := range xs {\n\tkeep(&xs[i])\n}\n",
            "for _, v := range xs {\n\tkeep(v)\n}\n",
            "for _, v := range []*T{a} {\n\tkeep(&v.name)\n}\n",
        ),
    ),
)
