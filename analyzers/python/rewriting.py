"""What fixes are made of: LibCST expressions with another argument, function or name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import libcst

from analyzers.model import Finding
from analyzers.named import NamedTuple


class Place(NamedTuple):
    """Where a finding stands: the finding, its line and the whole text."""

    finding: Finding
    line: str
    text: str


class Written(NamedTuple):
    """A text to put in the place of the finding's, and the modules it needs."""

    text: str
    safe: bool
    needs: tuple[str, ...] = ()


Expression = Callable[[libcst.BaseExpression, Place], Written | None]
Statement = Callable[[str, Place], Written | None]


def code(node: libcst.CSTNode) -> str:
    """Write a node."""
    return libcst.Module([]).code_for_node(node)


def argument(call: libcst.Call, name: str) -> int | None:
    """Give the place of a keyword argument, or None."""
    for index, one in enumerate(call.args):
        if one.keyword is not None and one.keyword.value == name:
            return index
    return None


def with_keyword(call: libcst.Call, name: str, value: str) -> libcst.Call:
    """The call with a keyword argument of this value, in the place of an older one or at the end."""
    at = argument(call, name)
    new = libcst.parse_expression(value)
    args = list(call.args)
    if at is not None:
        args[at] = args[at].with_changes(value=new)
        return call.with_changes(args=args)
    ending: libcst.Comma | libcst.MaybeSentinel = libcst.MaybeSentinel.DEFAULT
    space: libcst.BaseParenthesizableWhitespace = libcst.SimpleWhitespace("")
    if args:
        # What stood behind the last argument stands behind the new one; a line to each argument stays that.
        last = args[-1]
        before = call.whitespace_before_args
        between = before if isinstance(before, libcst.ParenthesizedWhitespace) else libcst.SimpleWhitespace(" ")
        if isinstance(last.comma, libcst.Comma):
            ending = last.comma
        space = last.whitespace_after_arg
        args[-1] = last.with_changes(
            comma=libcst.Comma(whitespace_after=between), whitespace_after_arg=libcst.SimpleWhitespace("")
        )
    equal = libcst.AssignEqual(libcst.SimpleWhitespace(""), libcst.SimpleWhitespace(""))
    args.append(libcst.Arg(keyword=libcst.Name(name), value=new, equal=equal, comma=ending, whitespace_after_arg=space))
    return call.with_changes(args=args)


def without_keyword(call: libcst.Call, name: str) -> libcst.Call:
    """Return the call without a keyword argument."""
    at = argument(call, name)
    if at is None:
        return call
    args = [one for index, one in enumerate(call.args) if index != at]
    if args and at == len(args):
        args[-1] = args[-1].with_changes(comma=libcst.MaybeSentinel.DEFAULT)
    return call.with_changes(args=args)


def renamed(call: libcst.Call, function: str) -> libcst.Call:
    """Return a call of another function with the same arguments."""
    return call.with_changes(func=libcst.parse_expression(function))


def base_of(call: libcst.Call) -> str:
    """What the called attribute belongs to, as it is written, with its dot; nothing for a plain name."""
    return f"{code(call.func.value)}." if isinstance(call.func, libcst.Attribute) else ""


def last_word(node: libcst.BaseExpression) -> str:
    """Give the name itself, or what follows its last dot."""
    if isinstance(node, libcst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, libcst.Name) else ""


def adding(name: str, value: str, *, safe: bool = False) -> Expression:
    """Give a call this keyword argument."""

    def make(node: libcst.BaseExpression, _: Place) -> Written | None:
        if not isinstance(node, libcst.Call) or any(one.star == "**" for one in node.args):
            return None
        return Written(code(with_keyword(node, name, value)), safe)

    return make


def setting(names: str, value: str, *, safe: bool = False) -> Expression:
    """Give the first of these keyword arguments that the call has another value."""

    def make(node: libcst.BaseExpression, _: Place) -> Written | None:
        if isinstance(node, libcst.Call):
            for name in names.split(" "):
                if argument(node, name) is not None:
                    return Written(code(with_keyword(node, name, value)), safe)
        return None

    return make


def naming(new: Mapping[str, str]) -> Expression:
    """Put another last word to a name of a module, by the end of the old one."""

    def make(node: libcst.BaseExpression, _: Place) -> Written | None:
        if isinstance(node, libcst.Attribute):
            for end, word in new.items():
                if node.attr.value.endswith(end):
                    return Written(code(node.with_changes(attr=libcst.Name(word))), safe=False)
        return None

    return make


def assigning(new: Mapping[str, str]) -> Statement:
    """Assign another value, by the end of the old one."""

    def make(text: str, _: Place) -> Written | None:
        statement = libcst.parse_statement(f"{text}\n")
        if isinstance(statement, libcst.SimpleStatementLine) and isinstance(statement.body[0], libcst.Assign):
            old = code(statement.body[0].value)
            for end, value in new.items():
                if old.endswith(end):
                    better = libcst.parse_expression(old.removesuffix(end) + value)
                    return Written(code(statement.body[0].with_changes(value=better)), safe=False)
        return None

    return make
