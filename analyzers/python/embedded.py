"""Shell programs that stand in a Python source: the constant texts that ``os.system`` and ``subprocess`` are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.blocks import Block
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.tree import Tree
from analyzers.python.values import argument, is_true, keyword, text_of

_BY_SHELL = frozenset(
    "os.system os.popen os.popen2 os.popen3 os.popen4 subprocess.getoutput subprocess.getstatusoutput "
    "commands.getoutput commands.getstatusoutput popen2.popen2 asyncio.create_subprocess_shell".split(" ")
)
_MAYBE_BY_SHELL = frozenset(
    f"subprocess.{name}" for name in "run Popen call check_call check_output".split(" ")
)  # fmt: skip
_SHELLS = frozenset("sh bash dash zsh ksh /bin/sh /bin/bash /usr/bin/sh /usr/bin/bash /bin/dash".split(" "))
_QUOTES = ('"""', "'''", '"', "'")
_LEAST = 3


def embedded(tree: Tree) -> list[Block]:
    """Give every shell program that a call of the source is given as a constant."""
    return [block for call, scope in tree.commands for block in _of_call(tree, call, scope)]


def _of_call(tree: Tree, call: ast.Call, scope: Scope) -> Iterator[Block]:
    named = set(origins(call.func, scope))
    command = argument(call, 0, "args") or keyword(call, "cmd") or keyword(call, "command")
    if command is None:
        return
    if named & _BY_SHELL or (named & _MAYBE_BY_SHELL and is_true(keyword(call, "shell"), scope)):
        yield from _block(tree, command, scope)
    elif named & _MAYBE_BY_SHELL and isinstance(command, (ast.List, ast.Tuple)) and len(command.elts) >= _LEAST:
        program, option, text = command.elts[:_LEAST]
        if text_of(program, scope) in _SHELLS and (text_of(option, scope) or "").endswith("c"):
            yield from _block(tree, text, scope)


def _block(tree: Tree, node: ast.expr, scope: Scope) -> Iterator[Block]:
    text = text_of(node, scope)
    if not text or not text.strip():
        return
    first, end = tree.source.offsets(tree.span(node))
    raw = tree.source.text[first:end]
    unprefixed = raw.lstrip("rRuUbBfF")
    quote = next((one for one in _QUOTES if unprefixed.startswith(one)), "")
    start = len(raw) - len(unprefixed) + len(quote)
    if quote and raw[start : len(raw) - len(quote)] == text:
        yield Block(text, "bash", ((0, first + start),), escape=None)
    else:
        # Escapes, sums or a name stand between the text and its place.
        yield Block(text, "bash", ((0, first),), escape=None, whole=(first, end))
