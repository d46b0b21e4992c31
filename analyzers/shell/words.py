"""A shell word taken apart: its literal text with holes, and each expansion in it, quoted or not, guarded or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE = "\0"
"""Stands in a word's text for what an expansion puts there."""
NUMBERS = frozenset(
    {"?", "#", "$", "!", "-", "LINENO", "RANDOM", "SECONDS", "UID", "EUID", "PPID", "BASHPID", "OPTIND"}
)
"""Parameters that hold a number, or letters that split into nothing."""

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_GUARDS = frozenset({":?", "?", ":-", "-", ":=", "="})
_MAX_PARTS = 500
_MAX_DEPTH = 6
_COMPOUND = frozenset({"concatenation", "string", "command_name", "translated_string", "array"})


class Expansion(NamedTuple):
    """One ``$x``, ``${x…}``, ``$(…)``, backquotes, ``$((…))`` or ``<(…)``."""

    node: Node
    name: str
    """The parameter's name; empty for what a command prints."""
    kind: str
    """``parameter``, ``command``, ``arithmetic`` or ``process``."""
    quoted: bool
    guarded: bool
    """Whether ``${x:?}`` or a default stands in for an empty value."""
    number: bool


class Word(NamedTuple):
    """One word of a command."""

    node: Node
    text: str
    expansions: tuple[Expansion, ...]
    glob: bool
    """Whether an unquoted ``*``, ``?`` or ``[`` is in it."""

    @property
    def literal(self) -> str | None:
        """The word where nothing is expanded in it."""
        return None if self.expansions else self.text


class _Parts:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.text: list[str] = []
        self.expansions: list[Expansion] = []
        self.glob = False

    def raw(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def take(self, node: Node, *, quoted: bool, depth: int = 0) -> None:
        """Add what a node stands for. A word holds strings, these hold expansions, and there this ends."""
        kind = node.type
        if kind in _EXPANDING:
            self._expansion(node, kind, quoted=quoted)
        elif kind in _COMPOUND and depth < _MAX_DEPTH:
            inside = quoted or kind in {"string", "translated_string"}
            at = node.start_byte
            for child in node.named_children[:_MAX_PARTS]:
                self._gap(node, at, child.start_byte, quoted=inside)
                self.take(child, quoted=inside, depth=depth + 1)
                at = child.end_byte
            self._gap(node, at, node.end_byte, quoted=inside)
        else:
            self._literal(node, kind, quoted=quoted)

    def _gap(self, node: Node, start: int, end: int, *, quoted: bool) -> None:
        """``$$``, the shell's own number, is no node of the grammar's."""
        if b"$$" in self.data[start:end]:
            self.text.append(HOLE)
            self.expansions.append(Expansion(node, "$", "parameter", quoted, guarded=True, number=True))

    def _literal(self, node: Node, kind: str, *, quoted: bool) -> None:
        text = self.raw(node)
        if kind == "raw_string":
            text = text[1:-1]
        elif kind == "ansi_c_string":
            text = text[2:-1]
        elif not quoted:
            self.glob = self.glob or any(sign in text for sign in "*?[")
            text = _ESCAPE.sub(r"\1", text) if "\\" in text else text
        self.text.append(text)

    def _expansion(self, node: Node, kind: str, *, quoted: bool) -> None:
        self.text.append(HOLE)
        if kind in {"simple_expansion", "expansion"}:
            name = next((self.raw(child) for child in node.named_children if child.type in _NAMES), "")
            operators = [child.type for child in node.children if not child.is_named or child.type == "operator"]
            guarded = any(sign in _GUARDS for sign in operators[1:]) and self._has_default(node, operators)
            number = name in NUMBERS or "#" in operators[1:2]
            name = name.partition("[")[0]
            self.expansions.append(Expansion(node, name, "parameter", quoted, guarded, number))
        elif kind == "arithmetic_expansion":
            self.expansions.append(Expansion(node, "", "arithmetic", quoted, guarded=True, number=True))
        else:
            what = "process" if kind == "process_substitution" else "command"
            self.expansions.append(Expansion(node, "", what, quoted, guarded=False, number=False))

    @staticmethod
    def _has_default(node: Node, operators: list[str]) -> bool:
        """``${x:-}`` guards nothing: its default is empty."""
        return node.named_child_count > 1 or any(sign in {":?", "?"} for sign in operators)


_NAMES = frozenset({"variable_name", "special_variable_name", "subscript"})
_EXPANDING = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion", "process_substitution"}
)


def word(data: bytes, node: Node) -> Word:
    """Take one word apart."""
    parts = _Parts(data)
    parts.take(node, quoted=False)
    return Word(node, "".join(parts.text), tuple(parts.expansions), parts.glob)
