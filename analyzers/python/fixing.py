"""From a finding in a Python tree to edits. LibCST rewrites the few words at hand, whatever the size of the rest.

What to write instead is in :mod:`analyzers.python.fixes`. An edit is offered only if LibCST understood what it changes;
:mod:`analyzers.verify` then looks whether the finding is gone.
"""

from __future__ import annotations

import ast
import re

import libcst

from analyzers.model import Edit, Finding, Fix, Span
from analyzers.python.fixes import EXPRESSIONS, STATEMENTS
from analyzers.python.rewriting import Place, Written
from analyzers.python.tree import Tree

_MAX_TEXT = 2000
_MAX_BRACKETS = 24
_WORD = re.compile(r"[\w.]")


def fix(tree: Tree, finding: Finding) -> Fix | None:
    """Offer edits for a finding in this tree, or None."""
    if finding.rule == "FH301":
        return _name_exception(tree, finding)
    start, end = tree.source.offsets(finding.span)
    text = tree.source.text[start:end]
    # LibCST's parser may need exponential time for nested brackets.
    if len(text) > _MAX_TEXT or sum(text.count(bracket) for bracket in "([{") > _MAX_BRACKETS:
        return None
    try:
        written = _rewrite(tree, finding, text)
    except (libcst.ParserSyntaxError, libcst.CSTValidationError, RecursionError):
        return None
    if written is None or written.text == text:
        return None
    imports = _imports(tree, written.needs)
    if imports is None:
        return None
    return Fix((*imports, _smallest(finding.span, text, written.text)), safe=written.safe)


def _rewrite(tree: Tree, finding: Finding, text: str) -> Written | None:
    place = Place(finding, tree.source.lines[finding.span.line - 1], tree.source.text)
    maker = EXPRESSIONS.get(finding.rule)
    if maker is not None and not _is_statement(text):
        return maker(libcst.parse_expression(text), place)
    statement = STATEMENTS.get(finding.rule)
    return None if statement is None else statement(text, place)


def _is_statement(text: str) -> bool:
    try:
        libcst.parse_expression(text)
    except libcst.ParserSyntaxError:
        return True
    return False


def _smallest(span: Span, old: str, new: str) -> Edit:
    """Leave out what both texts begin and end with, but cut no word in two."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    while first and _WORD.match(old[first - 1]) and (_starts_word(old, first) or _starts_word(new, first)):
        first -= 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    while last and _WORD.match(old[len(old) - last]) and (_ends_word(old, last, first) or _ends_word(new, last, first)):
        last -= 1
    before, middle = old[:first], old[first : len(old) - last]
    line, column = _place(span.line, span.column, before)
    return Edit(Span(line, column, *_place(line, column, middle)), new[first : len(new) - last])


def _starts_word(text: str, at: int) -> bool:
    return at < len(text) and bool(_WORD.match(text[at]))


def _ends_word(text: str, last: int, first: int) -> bool:
    at = len(text) - last - 1
    return at >= first and bool(_WORD.match(text[at]))


def _place(line: int, column: int, text: str) -> tuple[int, int]:
    breaks = text.count("\n")
    return (line + breaks, len(text) - text.rfind("\n")) if breaks else (line, column + len(text))


def _name_exception(tree: Tree, finding: Finding) -> Fix | None:
    """``except:`` becomes ``except Exception:``."""
    start, end = tree.source.offsets(finding.span)
    text = tree.source.text[start:end]
    try:
        statement = libcst.parse_statement(f"try:\n    pass\n{text}\n    pass\n")
    except libcst.ParserSyntaxError:
        return None
    if not isinstance(statement, libcst.Try) or len(statement.handlers) != 1:
        return None
    handler = statement.handlers[0].with_changes(
        type=libcst.Name("Exception"), whitespace_after_except=libcst.SimpleWhitespace(" ")
    )
    written = libcst.Module([statement.with_changes(handlers=[handler])]).code
    header = written.removeprefix("try:\n    pass\n").removesuffix("\n    pass\n")
    return Fix((Edit(finding.span, header),), safe=not _raises_again(tree, finding.span))


def _raises_again(tree: Tree, span: Span) -> bool:
    """Whether the handler hands everything on: then it was meant to see everything, and narrowing it is a change."""
    handler = tree.handlers.get((span.line, span.column))
    return handler is None or any(isinstance(node, ast.Raise) and node.exc is None for node in handler.body)


def _imports(tree: Tree, needs: tuple[str, ...]) -> list[Edit] | None:
    """Give edits for imports that are not there yet; None where one has no place, or its name means something else."""
    edits: list[Edit] = []
    for module in needs:
        name = module.partition(".")[0]
        if any(_is_import(statement, module) for statement in tree.module.body):
            continue
        line = _import_line(tree)
        if line is None or any(scope.bound.get(name) for scope in tree.scopes):
            return None
        edits.append(Edit(Span(line, 1, line, 1), f"import {module}\n"))
    return edits


def _is_import(statement: ast.stmt, module: str) -> bool:
    return isinstance(statement, ast.Import) and any(
        alias.name == module and alias.asname is None for alias in statement.names
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
