"""From a finding to edits. LibCST rewrites the few words at hand, so the size and depth of the rest do not matter.

An edit is offered only if LibCST understood what it changes and what comes out parses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import libcst

from analyzers.model import Edit, Finding, Fix, Span

if TYPE_CHECKING:
    from analyzers.python.tree import Tree

_LINE_END = re.compile(r"\r\n|\r|\n")
_MAX_TEXT = 2000
_MAX_BRACKETS = 24
_BOM = "\ufeff"


class UnfixableError(ValueError):
    """The edits do not fit this text, or what they make of it is not a program."""


def fix(tree: Tree, finding: Finding) -> Fix | None:
    """Offer edits for a finding in this tree, or None."""
    maker = _MAKERS.get(finding.rule)
    if maker is None:
        return None
    start, end = tree.source.offsets(finding.span)
    text = tree.source.text[start:end]
    # LibCST's parser may need exponential time for nested brackets.
    if len(text) > _MAX_TEXT or sum(text.count(bracket) for bracket in "([{") > _MAX_BRACKETS:
        return None
    try:
        return maker(tree, finding, text)
    except (libcst.ParserSyntaxError, libcst.CSTValidationError, RecursionError):
        return None


def apply(code: str, fixes: Iterable[Fix], *, unsafe: bool = False, is_program: bool = True) -> str:
    """Apply the safe fixes (all of them if ``unsafe``) to the text they were made for, line ends and all.

    Where ``is_program`` the result has to be a Python program; a text that only holds programs need not be one.

    Fixes that overlap an earlier one are left out: analyse again for those. Raises UnfixableError, and then nothing
    was changed.
    """
    start_of_text = len(_BOM) if code.startswith(_BOM) else 0
    starts = [start_of_text, *(match.end() for match in _LINE_END.finditer(code))]
    line_end = match[0] if (match := _LINE_END.search(code)) else "\n"
    taken: dict[tuple[int, int], str] = {}
    for one in fixes:
        if one.safe or unsafe:
            edits = {_place(edit.span, starts, code): edit.text for edit in one.edits}
            new = {place: text for place, text in edits.items() if taken.get(place) != text}
            if not any(_clash(place, other) for place in new for other in taken):
                taken |= new
    for (start, end), text in sorted(taken.items(), reverse=True):
        code = code[:start] + text.replace("\n", line_end) + code[end:]
    if taken and is_program:
        _require_program(code)
    return code


def _place(span: Span, starts: list[int], code: str) -> tuple[int, int]:
    if span.end_line > len(starts):
        raise UnfixableError(f"line {span.end_line}: the text has only {len(starts)}")
    start, end = starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
    if not 0 <= start <= end <= len(code):
        raise UnfixableError(f"line {span.line}: no column {span.end_column}")
    return start, end


def _clash(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one == other or (one[0] < other[1] and other[0] < one[1])


def _require_program(code: str) -> None:
    from analyzers.python.tree import parse  # noqa: PLC0415 - a cycle otherwise: the tree's reader asks for fixes
    from analyzers.source import read  # noqa: PLC0415 - likewise

    source, undecodable = read(code)
    error = undecodable or parse(source, source.text)
    if not hasattr(error, "body"):
        raise UnfixableError(f"the edited text does not parse: {error}")


def _name_exception(tree: Tree, finding: Finding, text: str) -> Fix | None:
    """``except:`` becomes ``except Exception:``."""
    statement = libcst.parse_statement(f"try:\n    pass\n{text}\n    pass\n")
    if not isinstance(statement, libcst.Try) or len(statement.handlers) != 1:
        return None
    handler = statement.handlers[0].with_changes(
        type=libcst.Name("Exception"), whitespace_after_except=libcst.SimpleWhitespace(" ")
    )
    written = libcst.Module([statement.with_changes(handlers=[handler])]).code
    header = written.removeprefix("try:\n    pass\n").removesuffix("\n    pass\n")
    ast.parse(written)
    return Fix((Edit(finding.span, header),), safe=not _raises_again(tree, finding.span))


def _raises_again(tree: Tree, span: Span) -> bool:
    """Whether the handler hands everything on: then it was meant to see everything, and narrowing it is a change."""
    handler = tree.handlers.get((span.line, span.column))
    return handler is None or any(isinstance(node, ast.Raise) and node.exc is None for node in handler.body)


def _literal_eval(tree: Tree, finding: Finding, text: str) -> Fix | None:
    """``eval(x)`` becomes ``ast.literal_eval(x)``, which reads literals only: right only where literals come."""
    call = libcst.parse_expression(text)
    if not (
        isinstance(call, libcst.Call)
        and isinstance(call.func, libcst.Name)
        and call.func.value == "eval"
        and len(call.args) == 1
        and call.args[0].keyword is None
        and not call.args[0].star
    ):
        return None
    function = libcst.Attribute(libcst.Name("ast"), libcst.Name("literal_eval"))
    span = finding.span
    name = Span(span.line, span.column, span.line, span.column + len("eval"))
    edits = [Edit(name, libcst.Module([]).code_for_node(function))]
    if not _imports_ast(tree):
        line = _import_line(tree)
        if line is None or any(scope.bound.get("ast") for scope in tree.scopes):
            return None
        edits.insert(0, Edit(Span(line, 1, line, 1), "import ast\n"))
    return Fix(tuple(edits), safe=False)


def _imports_ast(tree: Tree) -> bool:
    return any(
        isinstance(statement, ast.Import) and any((alias.asname or alias.name) == "ast" for alias in statement.names)
        for statement in tree.module.body
    )


def _import_line(tree: Tree) -> int | None:
    """Find where an import may be put: before the first statement that is neither docstring nor ``__future__``."""
    last = 0
    for statement in tree.module.body:
        first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", ()))])
        is_docstring = last == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_docstring and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            return first if first > last and statement.col_offset == 0 else None
        last = statement.end_lineno or first
    return None


_MAKERS: dict[str, Callable[[Tree, Finding, str], Fix | None]] = {"FH301": _name_exception, "FH101": _literal_eval}
