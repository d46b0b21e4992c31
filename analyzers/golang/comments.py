"""Comments by which a Go author takes findings back, in the words of the common suppressor; and statements' lines.

``#nosec G101`` and ``//gosec:disable G101`` (gosec), ``//nolint:gosec`` (golangci-lint), ``//lint:ignore SA1019 why``
(staticcheck). As these tools read them, one that stands alone on its line speaks for what follows it, blocks included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.tree import Tree
from analyzers.golang.words import words
from analyzers.syntax.grammar import nodes

if TYPE_CHECKING:
    from tree_sitter import Node

_GOSEC = re.compile(r"//\s*gosec:disable\b(.*)")
_NOLINT = re.compile(r"//\s*nolint(?::\s*([\w,\s-]+?))?\s*(?://.*|$)")
_LINT = re.compile(r"//\s*lint:ignore\s+([\w,*]+)\s+\S")
_NOSEC = re.compile(r"#\s*nosec\b", re.IGNORECASE)
_REASON = re.compile(r"\s*--.*")
_EVERY_RULE = frozenset({"gosec", "all", "staticcheck"})
_LINTERS = {"errcheck": "G104", "bodyclose": "", "noctx": ""}
_MAX_LINES = 2000
_MAX_LINES_IN_ALL = 200_000
_SIMPLE = words(
    "short_var_declaration assignment_statement expression_statement return_statement go_statement defer_statement "
    "var_spec const_spec type_spec send_statement inc_statement dec_statement"
)
_WITH_BODY = {
    "if_statement": "consequence",
    "for_statement": "body",
    "function_declaration": "body",
    "method_declaration": "body",
    "func_literal": "body",
}


def markers(tree: Tree) -> Iterator[tuple[int, str]]:
    """Every comment that takes something back, with the place of each line that it speaks for."""
    found = [(node, marker) for node in tree.seen.comments if (marker := _translated(tree.text(node)))]
    ends = _ends(tree) if found else {}
    spoken_for = 0
    for node, marker in found:
        for line in _lines(tree, node, ends):
            spoken_for += 1
            if spoken_for > _MAX_LINES_IN_ALL:
                return
            yield tree.source.starts[line - 1], marker


def _ends(tree: Tree) -> dict[int, int]:
    """The last line of the longest statement or declaration that begins on a line."""
    ends: dict[int, int] = {}
    for node in nodes(tree.root):
        if node.type not in {"source_file", "comment"}:
            first, last = node.start_point[0] + 1, node.end_point[0] + 1
            if last > ends.get(first, 0):
                ends[first] = last
    return ends


def _translated(comment: str) -> str:
    """Return the comment as ``# nosec`` and codes; nothing if it takes nothing back. Ours are left as they are."""
    if "fumehood:" in comment:
        return comment
    if _NOSEC.search(comment):
        return "# nosec " + _REASON.sub("", comment[comment.index("#") :].partition("nosec")[2])
    disabled = _GOSEC.match(comment)
    if disabled:
        return "# nosec " + _REASON.sub("", disabled[1])
    ignored = _LINT.match(comment)
    if ignored:
        return f"# nosec {ignored[1]}"
    nolint = _NOLINT.match(comment)
    if nolint is None:
        return ""
    if not nolint[1]:
        return "# nosec"
    linters = [name.strip() for name in nolint[1].split(",")]
    if any(name in _EVERY_RULE for name in linters):
        return "# nosec"
    codes = [code for code in (_LINTERS.get(name, "") for name in linters) if code]
    return f"# nosec {' '.join(codes)}" if codes else ""


def _lines(tree: Tree, node: Node, ends: dict[int, int]) -> range:
    """The line of a comment; where it stands alone, those of what follows too."""
    lines = tree.source.lines
    line = min(node.start_point[0] + 1, len(lines))
    before = tree.data[tree.data.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
    if before.strip():
        return range(line, line + 1)
    for following in range(line + 1, min(line + 4, len(lines)) + 1):
        if following in ends:
            return range(line, min(ends[following], len(lines), line + _MAX_LINES) + 1)
    return range(line, line + 1)


def statement_lines(tree: Tree) -> dict[int, tuple[int, int]]:
    """First and last line of the innermost statement around each line; of one with a body, those of its header."""
    lines: dict[int, tuple[int, int]] = {}
    for node in nodes(tree.root):
        kind = node.type
        if kind in _SIMPLE or kind in _WITH_BODY:
            body = node.child_by_field_name(_WITH_BODY[kind]) if kind in _WITH_BODY else None
            first = node.start_point[0] + 1
            last = (body.start_point if body is not None else node.end_point)[0] + 1
            if last > first:
                for line in range(first, min(last, first + _MAX_LINES) + 1):
                    lines[line] = (first, last)
            else:
                lines.pop(first, None)
    return lines
