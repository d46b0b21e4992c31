"""Everything there is to see in one Python source: parse once, then every family of rules, then Bandit's plugins."""

from __future__ import annotations

import ast
from collections.abc import Collection

from analyzers.deadline import Deadline
from analyzers.looking import Look, crashed, cut_short, missing
from analyzers.model import Finding, Fix, Parse, ParseError
from analyzers.python import dynamic, exceptions, hardcoded, tokens
from analyzers.python.tree import Tree, parse
from analyzers.rule import Rule, Seen
from analyzers.source import Source, UndecodableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from analyzers.python.bandit_plugins import PluginError

RULES: tuple[Rule, ...] = (*dynamic.RULES, *hardcoded.RULES, *exceptions.RULES)
FIXABLE = frozenset({"FH101", "FH301"})


def look(source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]) -> Look:
    """See what there is. Nothing that is wrong with the text, a rule or a plugin raises."""
    found = Look(comments=tokens.comments)
    tree = ParseError(1, 1, str(undecodable)[:200]) if undecodable else parse(source)
    if isinstance(tree, ParseError):
        found.parse, found.parse_error = Parse.TEXT, tree
        found.unparsed = ((1, len(source.lines)),)
        found.run("the token rules", lambda: tokens.look(source), deadline)
    else:
        found.statement_lines = lambda: tree.statement_lines
        found.fix = lambda finding: _fix(tree, finding)
        for rule in RULES:
            _run(found, rule, tree, deadline)
    if "bandit" in engines:
        _bandit(found, source, tree if isinstance(tree, Tree) else None, deadline)
    return found


def _fix(tree: Tree, finding: Finding) -> Fix | None:
    if finding.rule not in FIXABLE:
        return None
    from analyzers.fix import fix  # noqa: PLC0415 - it brings LibCST, which most reports do not need

    return fix(tree, finding)


def _run(found: Look, rule: Rule, tree: Tree, deadline: Deadline) -> None:
    found.run(rule.id, lambda: map(rule.seen, rule.check(tree) or ()), deadline)


def _bandit(found: Look, source: Source, tree: Tree | None, deadline: Deadline) -> None:
    from analyzers.python import bandit_plugins  # noqa: PLC0415 - only where it was switched on

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


def _take(found: Look, outcome: Seen | PluginError, told: set[str]) -> None:
    if isinstance(outcome, Seen):
        found.others.append(outcome)
    elif outcome.plugin not in told:
        told.add(outcome.plugin)
        found.notes.append(crashed(outcome.plugin, outcome.line, outcome.reason))


def _drop_hidden(found: Look, tree: Tree) -> None:
    """Bandit goes by the name alone; a function of the source's own that is called ``eval`` is not the builtin."""
    hidden = dynamic.hidden_calls(tree)
    if hidden:
        found.others = [
            seen for seen in found.others if not (seen.label.name in {"eval", "exec_used"} and seen.hit.span in hidden)
        ]


def _mask_quoted(found: Look, tree: Tree) -> None:
    """Bandit names a password by its value alone; hide every literal of that value."""
    values = {seen.hit.quoted_value for seen in found.others if seen.hit.quoted_value}
    if values:
        found.masked += [tree.span(node) for node in tree.all(ast.Constant) if str(node.value) in values]
