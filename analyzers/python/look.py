"""Everything there is to see in one Python source: parse once, walk once, and show each node to whom it concerns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cache

from analyzers.capabilities import collected
from analyzers.deadline import Deadline
from analyzers.languages import languages
from analyzers.looking import Look, less_sure
from analyzers.model import Finding, Fix, Parse
from analyzers.python import hardcoded, rules, tokens
from analyzers.python.dispatch import dispatch
from analyzers.python.embedded import embedded
from analyzers.python.flow.gate import refine
from analyzers.python.flow.rules import RULES as FLOW_RULES
from analyzers.python.imported import imported
from analyzers.python.interests import Table
from analyzers.python.reading import read
from analyzers.python.reading.wrapping import foreign_cell
from analyzers.python.tree import Tree
from analyzers.python.wants import INTERESTS
from analyzers.rule import Rule, Seen
from analyzers.source import Source, UndecodableError

_SHELLS = frozenset({"bash", "sh"})
RULES: tuple[Rule, ...] = (*hardcoded.RULES, *rules.RULES, *FLOW_RULES)
FIXABLE = frozenset(
    "FH101 FH110 FH111 FH120 FH132 FH133 FH141 FH152 FH153 FH154 FH156 FH201 FH301 FH401 FH403 FH407 FH408 FH410 FH501 "
    "FH502 FH503 FH504 FH506 FH510 FH512 FH520 FH521 FH522 FH523 FH601 FH604 FH605 FH606".split(" ")
)
"""Rules that :mod:`analyzers.python.fixes` knows something better for; listed here for it brings LibCST."""


def look(source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]) -> Look:
    """See what there is. Nothing that is wrong with the text, a rule or a plugin raises."""
    found = Look(comments=tokens.comments)
    reading = read(source, undecodable, deadline)
    found.parse, found.parse_error, found.unparsed = reading.parse, reading.error, reading.unparsed
    tree = None
    table = _table()
    if reading.module is not None:
        tree = Tree(reading.source, reading.module, table.watched, table.kinds)
        found.statement_lines = lambda: tree.statement_lines
        found.release = tree.release
        if reading.parse is Parse.FULL:
            found.fix = lambda finding: _fix(tree, finding)
        dispatch(tree, table, found, deadline)
        refine(tree, found, deadline)
        found.imports = imported(tree)
        found.wanted = collected(tree.wanted)
        if tree.commands and "bash" in languages():
            found.blocks = embedded(tree)
    if reading.parse is not Parse.FULL:
        found.seen = [less_sure(seen) for seen in found.seen]
    if reading.unparsed:
        known = {(seen.label.id, seen.hit.span.line) for seen in found.seen}
        lost = {line for first, last in reading.unparsed for line in range(first, last + 1)}
        found.run("the token rules", lambda: _unseen(tokens.look(source, table), lost, known), deadline)
    if reading.parse is Parse.REPAIRED:
        _add_cell(found, source, deadline)
    if "bandit" in engines:
        from analyzers.python import bandit_engine  # noqa: PLC0415 - only where it was switched on

        bandit_engine.run(found, source, tree, deadline)
    return found


def _add_cell(found: Look, source: Source, deadline: Deadline) -> None:
    """Read the cell that was left out as a shell's, or say that nobody read it."""
    begun = foreign_cell(source.text)
    if begun is None:
        return
    first, word = begun
    if word in _SHELLS and first < len(source.lines):
        from analyzers import blocks  # noqa: PLC0415 - few texts hold others

        start = source.starts[first]
        cell = blocks.Block(source.text[start:], "bash", ((0, start),))
        blocks.add(found, source, [cell], deadline, engines=(), judge=True)
    else:
        found.unparsed = (*found.unparsed, (first, len(source.lines)))


def _unseen(seen: Iterable[Seen], lost: set[int], known: set[tuple[str, int]]) -> Iterator[Seen]:
    """What tokens show on lines that no tree came of, and that calls which could be kept did not show."""
    for one in seen:
        if one.hit.span.line in lost and (one.label.id, one.hit.span.line) not in known:
            yield one


@cache
def _table() -> Table:
    return Table((*RULES, *INTERESTS))


def _fix(tree: Tree, finding: Finding) -> Fix | None:
    if finding.rule not in FIXABLE:
        return None
    from analyzers.python.fixing import fix  # noqa: PLC0415 - it brings LibCST, which most reports do not need

    return fix(tree, finding)
