"""Everything there is to see in one Python source: parse once, walk once, and show each node to whom it concerns."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from analyzers.capabilities import collected
from analyzers.deadline import Deadline
from analyzers.looking import Look
from analyzers.model import Finding, Fix, Parse, ParseError
from analyzers.python import hardcoded, rules, tokens
from analyzers.python.dispatch import dispatch
from analyzers.python.imported import imported
from analyzers.python.interests import Table
from analyzers.python.tree import Tree, parse
from analyzers.python.wants import INTERESTS
from analyzers.rule import Rule
from analyzers.source import Source, UndecodableError

RULES: tuple[Rule, ...] = (*hardcoded.RULES, *rules.RULES)
FIXABLE = frozenset({"FH101", "FH301"})


def look(source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]) -> Look:
    """See what there is. Nothing that is wrong with the text, a rule or a plugin raises."""
    found = Look(comments=tokens.comments)
    module = ParseError(1, 1, str(undecodable)[:200]) if undecodable else parse(source, source.text)
    tree = None
    if isinstance(module, ParseError):
        found.parse, found.parse_error = Parse.TEXT, module
        found.unparsed = ((1, len(source.lines)),)
        found.run("the token rules", lambda: tokens.look(source), deadline)
    else:
        table = _table()
        tree = Tree(source, module, table.watched)
        found.statement_lines = lambda: tree.statement_lines
        found.fix = lambda finding: _fix(tree, finding)
        dispatch(tree, table, found, deadline)
        found.imports = imported(tree)
        found.wanted = collected(tree.wanted)
    if "bandit" in engines:
        from analyzers.python import bandit_engine  # noqa: PLC0415 - only where it was switched on

        bandit_engine.run(found, source, tree, deadline)
    return found


@cache
def _table() -> Table:
    return Table((*RULES, *INTERESTS))


def _fix(tree: Tree, finding: Finding) -> Fix | None:
    if finding.rule not in FIXABLE:
        return None
    from analyzers.fix import fix  # noqa: PLC0415 - it brings LibCST, which most reports do not need

    return fix(tree, finding)
