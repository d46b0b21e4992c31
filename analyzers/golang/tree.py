"""One Go text as its rules see it: calls by what they call, literals by their type, and every place as a span."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from analyzers.deadline import Deadline
from analyzers.golang.grammar import fields
from analyzers.golang.scopes import Function, Names, Scope
from analyzers.golang.seen import Call, Seen
from analyzers.golang.walk import walk
from analyzers.model import Confidence, Severity, Span
from analyzers.rule import Hit
from analyzers.source import Source
from analyzers.syntax.grammar import nodes
from analyzers.syntax.reading import Reading

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_TYPE = 6
_MAX_LOOKS = 5_000_000
_SELECTORS = frozenset({"selector_expression", "qualified_type"})
_REMOTE = (
    b".Request", b"gin.", b"echo.", b"fiber.", b"iris.", b"beego.", b"RequestCtx", b"events.", b"net.", b"url.URL",
    b"url.Values", b"http.Header", b"multipart", b"mux.Vars", b"chi.URLParam", b"httprouter", b"websocket", b"tls.Dial",
    b"tls.Conn", b"cgi.", b"zip.", b"tar.",
)  # fmt: skip
_PACKED = (b"zip", b"tar.", b"zlib", b"flate", b"bzip2", b"lzw", b"zstd", b"xz", b"snappy", b"lz4")
_LOCAL = (
    b"os.Args", b"Getenv", b"os.LookupEnv", b"os.Environ", b"os.Stdin", b"os.ExpandEnv", b"flag.", b"fmt.Scan",
)  # fmt: skip


class Tree:
    """A text that was read and walked."""

    def __init__(self, source: Source, reading: Reading, root: Node, deadline: Deadline) -> None:
        self.source = source
        self.data = reading.data
        self.root = root
        self.exhausted = False
        """Whether something was given up on because the text is too entangled."""
        self._spare = _MAX_LOOKS
        self.seen: Seen = walk(reading.data, root, deadline)
        self.packages = self.seen.packages
        self.names: Names = self.seen.names
        self.by_name: dict[str, list[Call]] = defaultdict(list)
        self.call_of: dict[int, Call] = {}
        for call in self.seen.calls:
            self.by_name[call.name].append(call)
            self.call_of[call.node.id] = call

    def afford(self, cost: int) -> bool:
        """Whether a rule may look at so many places more: some questions are asked of all places for each of many."""
        self._spare -= cost
        self.exhausted = self.exhausted or self._spare < 0
        return self._spare >= 0

    @cached_property
    def packaged(self) -> frozenset[str]:
        """What is called of packages: names with a path in front."""
        return frozenset(name for name in self.by_name if "." in name and name[0] != ".")

    @cached_property
    def lowered(self) -> bytes:
        """The text in small letters, for questions whether a word stands anywhere in it."""
        return self.data.lower()

    @cached_property
    def serves(self) -> bool:
        """Whether anything in it may come from somebody else's machine."""
        return any(word in self.data for word in _REMOTE)

    @cached_property
    def unpacks(self) -> bool:
        """Whether archives or compressed data may be read in it."""
        return any(word in self.data for word in _PACKED)

    @cached_property
    def reads(self) -> bool:
        """Whether anything in it may come from whoever starts the program."""
        return any(word in self.data for word in _LOCAL)

    @cached_property
    def size(self) -> int:
        """How many nodes the tree has."""
        return self.root.descendant_count

    def text(self, node: Node) -> str:
        """Return what stands there."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def raw(self, node: Node) -> bytes:
        """Return the bytes that stand there."""
        return self.data[node.start_byte : node.end_byte]

    def line_text(self, node: Node) -> bytes:
        """Return the line on which a node begins, up to 400 bytes of it around the node."""
        at = node.start_byte
        start = max(self.data.rfind(b"\n", 0, at) + 1, at - 200)
        end = self.data.find(b"\n", at)
        return self.data[start : min(at + 200, end if end >= 0 else len(self.data))]

    def calls(self, *names: str) -> list[Call]:
        """Every call of these, in the text's order for each of them."""
        by_name = self.by_name
        return [call for name in names if name in by_name for call in by_name[name]]

    def span(self, node: Node) -> Span:
        """Where a node stands, within the text as it was sent."""
        first, last = node.start_point, node.end_point
        lines = self.source.lines
        if last[0] < len(lines):
            return self.source.span(first[0] + 1, first[1], last[0] + 1, last[1])
        end = len(lines), len(lines[-1].encode("utf-8", "surrogatepass"))
        start = (first[0] + 1, first[1]) if first[0] < len(lines) else end
        return self.source.span(*start, *end)

    def hit(
        self,
        node: Node,
        message: str,
        *,
        confidence: Confidence | None = None,
        severity: Severity | None = None,
        also: tuple[str, ...] | None = None,
    ) -> Hit:
        """Say that a rule saw something there. What is None is as the rule says in general."""
        return Hit(span=self.span(node), message=message, also=also, confidence=confidence, severity=severity)

    def line(self, node: Node) -> int:
        """Return the line it begins on."""
        return min(int(node.start_point[0]) + 1, len(self.source.lines))

    def member(self, selector: Node, arguments: int = -1) -> tuple[str, Node | None, bool]:
        """Return ``path.Name`` for a package's member, else ``.Name`` and what it is selected from; and certainty."""
        operand, name = selector.child_by_field_id(fields().operand), selector.child_by_field_id(fields().field)
        member = "" if name is None else self.text(name)
        if operand is not None and operand.type == "identifier":
            base = self.text(operand)
            if base not in self.names or self.names.declaration(base, operand.start_byte) is None:
                path, sure = self.packages.path(base, member, arguments)
                if path is not None:
                    return f"{path}.{member}", None, sure
        return f".{member}", operand, True

    def type_name(self, node: Node | None) -> str:
        """Return a type by the name it has everywhere: ``net/http.Request``, ``[]string``; pointers are left out."""
        prefix = ""
        for _ in range(_MAX_TYPE):
            if node is None:
                return prefix
            kind = node.type
            if kind in {"pointer_type", "parenthesized_type", "generic_type"}:
                node = node.child_by_field_name("type") or (node.named_children[0] if node.named_children else None)
            elif kind in {"slice_type", "array_type", "implicit_length_array_type"}:
                prefix, node = prefix + "[]", node.child_by_field_name("element")
            elif kind == "map_type":
                prefix, node = prefix + "map[]", node.child_by_field_name("value")
            elif kind == "qualified_type":
                return prefix + self._qualified(node)
            else:
                return prefix + (self.text(node) if kind == "type_identifier" else kind)
        return prefix

    def _qualified(self, node: Node) -> str:
        package, name = node.child_by_field_name("package"), node.child_by_field_name("name")
        if package is None or name is None:
            return ""
        base, member = self.text(package), self.text(name)
        path, _ = self.packages.path(base, member)
        return f"{path or base}.{member}"

    def all(self, kind: str) -> list[Node]:
        """Every node of a kind that the walk took no note of. Walks again: for what few texts have."""
        return [node for node in nodes(self.root) if node.type == kind]

    def mentions(self, *names: str) -> list[Node]:
        """Every place where a package's member is named without being called there."""
        found: list[Node] = []
        for name in names:
            path, _, member = name.rpartition(".")
            for base in self.packages.names(path):
                found += self._named(f"{base}.{member}".encode())
        return found

    def _named(self, text: bytes) -> Iterator[Node]:
        """Every ``base.Member`` of exactly this spelling that is not called."""
        called = {call.function.start_byte for call in self.seen.calls} if text in self.data else ()
        at = self.data.find(text)
        while at >= 0:
            node = self.root.descendant_for_byte_range(at, at + len(text))
            if (
                node is not None
                and node.byte_range == (at, at + len(text))
                and node.type in _SELECTORS
                and at not in called
            ):
                yield node
            at = self.data.find(text, at + len(text))

    @cached_property
    def literals_by_type(self) -> dict[str, list[tuple[Node, Scope]]]:
        """Composite literals by their type's name."""
        found: dict[str, list[tuple[Node, Scope]]] = defaultdict(list)
        for node, scope in self.seen.literals:
            found[self.type_name(node.child_by_field_name("type"))].append((node, scope))
        return found

    def literals(self, *types: str) -> list[tuple[Node, Scope]]:
        """Every composite literal of these types."""
        by_type = self.literals_by_type
        return [place for name in types if name in by_type for place in by_type[name]]

    def fields(self, literal: Node) -> dict[str, Node]:
        """Return the values of a composite literal that stand behind a name, by it."""
        body = literal if literal.type == "literal_value" else literal.child_by_field_name("body")
        found: dict[str, Node] = {}
        for element in body.named_children if body is not None else ():
            if element.type == "keyed_element" and element.named_child_count > 1:
                key, value = element.named_children[0], element.named_children[-1]
                found[self.text(key)] = inner(value)
        return found

    def elements(self, literal: Node, most: int = 64) -> list[Node]:
        """Return the values of a composite literal, with and without a key, up to so many."""
        body = literal if literal.type == "literal_value" else literal.child_by_field_name("body")
        if body is None:
            return []
        items = [item for item in body.named_children[:most] if item.type != "comment"]
        return [inner(item.named_children[-1] if item.type == "keyed_element" else item) for item in items]

    def assignments(self, function: Function) -> Iterator[tuple[Node, Node]]:
        """Every ``target = value`` in a function's body, functions in it included."""
        pending = [function.node]
        while pending:
            node = pending.pop()
            if node.type == "assignment_statement":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                if left is not None and right is not None:
                    yield from zip(left.named_children, right.named_children, strict=False)
            pending += node.named_children

    def named_function(self, name: str) -> Function | None:
        """Return the one function or method of the text that has this name; None if there are more or none."""
        found = self.seen.functions.get(name)
        return found[0] if found is not None and len(found) == 1 else None


def inner(node: Node) -> Node:
    """Return the expression of an element of a composite literal."""
    if node.type == "literal_element" and node.named_child_count:
        return node.named_children[0]
    return node
