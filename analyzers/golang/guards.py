"""Whether a value was checked before it is used: conditions around or before the place that ask about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from analyzers.golang.program import Program

if TYPE_CHECKING:
    from tree_sitter import Node

PATH_CHECKS = re.compile(
    r"HasPrefix\(|IsLocal\(|Contains(?:Any|Rune)?\([^)]*[\"`'](?:\.\.|/)|ValidPath\(|MatchString\(|\bRel\(|"
    r"(?i:\b\w*(?:valid|allow|safe|permitted|whitelist|inside|within)\w*[\[(])"
)
TEXT_CHECKS = re.compile(
    r"MatchString\(|\bMatch\(|, ok\b.*:=.*\[|slices\.Contains\(|"
    r"(?i:\b\w*(?:valid|allow|safe|permitted|whitelist)\w*[\[(])"
)
_MAX_CONDITION = 2000
_MAX_NAMES = 6


def checked(program: Program, node: Node, checks: re.Pattern[str]) -> bool:
    """Whether a condition before the place asks about one of the names that the value is made of.

    An approximation: which branch leaves, and whether the check is right, is not looked at.
    """
    function = next(
        (item for item in reversed(program.names.functions) if item.start <= node.start_byte < item.end), None
    )
    start = function.start if function is not None else 0
    if not program.afford(len(program.seen.branches) + len(program.names.functions)):
        return False
    names: frozenset[str] | None = None
    for branch in program.seen.branches:
        at = branch.node.start_byte
        if at >= node.start_byte:
            break
        if at < start:
            continue
        condition = _condition(program, branch.node)
        if not checks.search(condition):
            continue
        if names is None:
            names = _names(program, node)
        if any(re.search(rf"\b{re.escape(name)}\b", condition) for name in names):
            return True
    return False


def _condition(program: Program, node: Node) -> str:
    """What stands between the keyword and the block; in a switch, its value."""
    body = node.child_by_field_name("consequence")
    end = body.start_byte if body is not None else min(node.end_byte, node.start_byte + 200)
    return program.data[node.start_byte : min(end, node.start_byte + _MAX_CONDITION)].decode("utf-8", "replace")


def _names(program: Program, node: Node) -> frozenset[str]:
    """Names in an expression, and in what these were set to."""
    found: dict[str, None] = {}
    pending = [node]
    while pending and len(found) < _MAX_NAMES:
        current = pending.pop(0)
        if current.type == "identifier":
            name = program.text(current)
            if name not in found and name in program.names:
                found[name] = None
                reaching = program.names.reaching(name, current.start_byte)
                pending += [definition.value for definition in reaching[:2] if definition.value is not None]
        elif current.type not in {"func_literal", "block"}:
            pending += current.named_children[:8]
    return frozenset(found)
