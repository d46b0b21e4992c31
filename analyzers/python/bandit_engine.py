"""Bandit as a second engine: what its plugins see is added to what ours saw."""

from __future__ import annotations

import ast

from analyzers.deadline import Deadline
from analyzers.looking import Look, crashed, cut_short, missing
from analyzers.model import Span
from analyzers.python import bandit_plugins
from analyzers.python.names import hides_builtin, origins
from analyzers.python.tree import Tree
from analyzers.rule import Seen
from analyzers.source import Source

_BUILTINS = {"eval": "eval", "exec": "exec_used"}
"""Builtins that Bandit goes by the name alone for, and what it calls the finding."""


def run(found: Look, source: Source, tree: Tree | None, deadline: Deadline) -> None:
    """Run Bandit's plugins over the text and, where there is one, its tree. Nothing raises."""
    told: set[str] = set()
    try:
        bandit_plugins.load()
        for outcome in bandit_plugins.run_on_text(source):
            _take(found, outcome, told)
        if tree is not None:
            for outcome in bandit_plugins.run(tree, deadline):
                _take(found, outcome, told)
    except ImportError as error:
        found.notes.append(missing("Bandit", str(error)))
    except bandit_plugins.CutShortError as short:
        found.notes.append(cut_short("Bandit's plugins", short.line))
    except Exception as error:  # noqa: BLE001 - another release of Bandit may break in ways nobody can list
        found.notes.append(crashed("Bandit's plugins", 1, type(error).__name__))
    if tree is not None:
        _drop_hidden(found, tree)
        _mask_quoted(found, tree)


def _take(found: Look, outcome: Seen | bandit_plugins.PluginError, told: set[str]) -> None:
    if isinstance(outcome, Seen):
        found.others.append(outcome)
    elif outcome.plugin not in told:
        told.add(outcome.plugin)
        found.notes.append(crashed(outcome.plugin, outcome.line, outcome.reason))


def _drop_hidden(found: Look, tree: Tree) -> None:
    """Bandit goes by the name alone; a function of the source's own that is called ``eval`` is not the builtin."""
    hidden = {(name, span) for name, span in _hidden_calls(tree)}
    if hidden:
        found.others = [seen for seen in found.others if (seen.label.name, seen.hit.span) not in hidden]


def _hidden_calls(tree: Tree) -> list[tuple[str, Span]]:
    return [
        (_BUILTINS[call.func.id], tree.span(call))
        for call, scope in tree.by_kind.get(ast.Call, ())
        if isinstance(call.func, ast.Name)
        and call.func.id in _BUILTINS
        and hides_builtin(call.func, scope)
        and f"builtins.{call.func.id}" not in origins(call.func, scope)
    ]


def _mask_quoted(found: Look, tree: Tree) -> None:
    """Bandit names a password by its value alone; hide every literal of that value."""
    values = {seen.hit.quoted_value for seen in found.others if seen.hit.quoted_value}
    if values:
        found.masked += [
            tree.span(node)
            for node in ast.walk(tree.module)
            if isinstance(node, ast.Constant) and str(node.value) in values
        ]
