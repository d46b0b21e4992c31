"""The cases of detect-secrets' own plugin tests, read from a checkout without running any of it.

The lists of ``pytest.mark.parametrize`` are evaluated as far as literals, sums, ``format``, ``dedent`` and the module's
constants go. What a plugin calls no secret is no secret *of its kind*: the case keeps the plugin's name.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from analyzers import languages
from quality.gitleaks import Case, kinds
from quality.measures import AT_LEAST, AT_MOST, Measure, share

FOLDERS = ("detect-secrets", "detect_secrets")

_TESTS = "tests/plugins"
_ANSWERS = frozenset({"should_flag", "should_be_caught"})
_TEXTS = ("payload", "line", "file_content")
_RULES = {"keyword": "FH201", "high_entropy_strings": "FH206"}
_ISSUERS = {
    "aws_key": "AWS", "github_token": "GitHub", "gitlab_token": "GitLab", "openai": "OpenAI", "pypi_token": "PyPI",
    "slack": "Slack", "stripe_key": "Stripe", "sendgrid": "SendGrid", "discord": "Discord", "jwt": "JSON Web Token",
}  # fmt: skip
_NOT_SECRETS = frozenset({"ip_public_test.py"})
"""Addresses are no secrets; no rule of ours looks for them."""


def measure(checkout: Path) -> Iterable[Measure]:
    """Say which cases are found. Where a plugin finds nothing, only a finding of the plugin's kind is wrong."""
    everything = cases(checkout)
    told = {case.name: kinds(case.text, _language(case.name)) for case in everything}
    true = [case for case in everything if case.secret]
    false = [case for case in everything if not case.secret]
    missed = [case for case in true if not told[case.name]]
    wrong = [case for case in false if _is_of_kind(case.name, told[case.name])]
    strictly = sum(1 for case in false if told[case.name])
    yield Measure(
        "detect-secrets",
        "cases that a plugin finds",
        1 - share(len(missed), len(true)),
        AT_LEAST,
        0.90,
        f"{len(true) - len(missed)} of {len(true)}",
        tuple(f"`{case.name}`" for case in missed),
    )
    yield Measure(
        "detect-secrets",
        "cases that a plugin does not find, and a rule of its kind does",
        share(len(wrong), len(false)),
        AT_MOST,
        0.05,
        f"{len(wrong)} of {len(false)}; {strictly} of any kind",
        tuple(f"`{case.name}`" for case in wrong),
    )


def _language(name: str) -> str:
    """The language that ``fumehood check`` takes a file of this suffix for; other cases are plain text."""
    _, dot, suffix = name.partition(".")
    if not dot:
        return "python" if name.startswith("keyword") else "text"
    named = {"conf": "text", "go": "go" if "go" in languages() else "text"}
    return named.get(suffix, "python")


def _is_of_kind(name: str, told: Mapping[str, str]) -> bool:
    """Whether what is told is what the plugin looks for: its issuer's tokens, names, or randomness."""
    plugin = name.partition(":")[0]
    if plugin in _RULES:
        return _RULES[plugin] in told
    shaped = [message for rule, message in told.items() if rule not in _RULES.values()]
    return any(_ISSUERS.get(plugin, "") in message for message in shaped)


class UnreadableError(ValueError):
    """An expression whose value only running it would tell."""


def cases(checkout: Path) -> list[Case]:
    """Every case, in file order; where the plugin reads by file type, the name ends in the suffix."""
    found: list[Case] = []
    for path in sorted((checkout / _TESTS).glob("*_test.py")):
        if path.name in _NOT_SECRETS:
            continue
        module = ast.parse(path.read_text(encoding="utf-8"))
        constants = dict(_constants(module))
        for function, outer in _functions(module):
            plugin = path.stem.removesuffix("_test")
            for at, (suffix, text, secret) in enumerate(_cases(function, outer, constants)):
                name = f"{plugin}:{function.name}:{at}" + (f".{suffix}" if suffix else "")
                found.append(Case(name, text, secret))
    return found


def _constants(module: ast.Module) -> Iterator[tuple[str, Any]]:
    known: dict[str, Any] = {}
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                try:
                    known[name] = _value(value, known)
                except UnreadableError:
                    continue
                yield name, known[name]


def _functions(module: ast.Module) -> Iterator[tuple[ast.FunctionDef, list[ast.expr]]]:
    """Every test function with the decorators of the classes around it."""
    stack: list[tuple[ast.stmt, list[ast.expr]]] = [(one, []) for one in reversed(module.body)]
    while stack:
        node, outer = stack.pop()
        if isinstance(node, ast.ClassDef):
            stack += [(one, [*outer, *node.decorator_list]) for one in reversed(node.body)]
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield node, outer


def _cases(
    function: ast.FunctionDef, outer: list[ast.expr], constants: Mapping[str, Any]
) -> Iterator[tuple[str, str, bool]]:
    inner = [table for mark in function.decorator_list for table in _table(mark, constants)]
    around = [table for mark in outer for table in _table(mark, constants)] or [([], [()])]
    for names, rows in inner:
        for _, context_rows in around[:1]:
            for context in context_rows:
                given = dict(zip(around[0][0], context, strict=True))
                for row in rows:
                    yield from _case({**given, **dict(zip(names, row, strict=True))})


def _case(row: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    answers = [bool(row[name]) for name in _ANSWERS if name in row]
    if "format" in row and answers:
        yield "", row["format"].format(non_secret=row["non_secret"], secret=row["secret"]), answers[0]
    elif "file_extension" in row:
        yield row["file_extension"] or "", row["line"], row["expected_secret"] is not None
    else:
        for text in [row[name] for name in _TEXTS if name in row][:1]:
            yield "", text, answers[0] if answers else True


def _table(mark: ast.expr, constants: Mapping[str, Any]) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
    match mark:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[ast.Constant(value=str(names)), rows]):
            columns = [name.strip() for name in names.split(",")]
            if not set(columns) & {*_ANSWERS, *_TEXTS, "non_secret"}:
                return
            many = _rows(rows, constants)
            yield columns, [row if len(columns) > 1 else (row,) for row in many]


def _rows(node: ast.expr, constants: Mapping[str, Any]) -> list[Any]:
    match node:
        case ast.Call(func=ast.Name(id="parse_test_cases"), args=[ast.List(elts=tables)]):
            return [
                (suffix, *row)
                for suffix, rows in (_value(table, constants) for table in tables)
                for row in rows
            ]  # fmt: skip
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return [value for item in items for value in _readable(item, constants)]
    raise UnreadableError(ast.unparse(node)[:80])


def _readable(node: ast.expr, constants: Mapping[str, Any]) -> Iterator[Any]:
    try:
        yield _value(node, constants)
    except UnreadableError:
        return


def _value(node: ast.expr, constants: Mapping[str, Any]) -> Any:  # noqa: ANN401, C901, PLR0911 - one case per kind
    match node:
        case ast.Constant():
            return node.value
        case ast.Name() if node.id in constants:
            return constants[node.id]
        case ast.Name():
            # A plugin class beside the texts: its name is all that is needed of it.
            return node.id if node.id[0].isupper() and not node.id.isupper() else _unreadable(node)
        case ast.Tuple():
            return tuple(_value(item, constants) for item in node.elts)
        case ast.List():
            return [value for item in node.elts for value in _readable(item, constants)]
        case ast.BinOp(op=ast.Add()):
            return _value(node.left, constants) + _value(node.right, constants)
        case ast.BinOp(op=ast.Mult()):
            return _value(node.left, constants) * _value(node.right, constants)
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            ends = [None if end is None else _value(end, constants) for end in (lower, upper)]
            return _value(node.value, constants)[slice(*ends)]
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, constants)
        case ast.Call(func=ast.Attribute(value=text, attr="format")):
            given = {one.arg: _value(one.value, constants) for one in node.keywords if one.arg}
            return _value(text, constants).format(*(_value(one, constants) for one in node.args), **given)
        case ast.Call(func=ast.Attribute(attr="dedent"), args=[text]):
            return textwrap.dedent(_value(text, constants))
        case _:
            return _unreadable(node)


def _unreadable(node: ast.expr) -> Any:  # noqa: ANN401 - it never returns
    raise UnreadableError(ast.unparse(node)[:80])
