"""Everything there is to see in one Go source: read as well as it can be, walk once, then every family of rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import partial

from analyzers.deadline import Deadline
from analyzers.golang import (
    commands,
    comments,
    contexts,
    crypto,
    exposure,
    files,
    headers,
    keys,
    memory,
    mistakes,
    outcomes,
    outward,
    pages,
    paths,
    queries,
    serving,
    tls,
    wants,
)
from analyzers.golang.grammar import READER
from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.looking import Look, cut_short, less_sure
from analyzers.model import Parse
from analyzers.rule import Rule, Seen
from analyzers.secret_rules import named_secrets
from analyzers.source import Source, UndecodableError
from analyzers.syntax.looking import begun

RULES: tuple[Rule, ...] = (
    *commands.RULES,
    *queries.RULES,
    *paths.RULES,
    *pages.RULES,
    *outward.RULES,
    *crypto.RULES,
    *keys.RULES,
    *tls.RULES,
    *files.RULES,
    *serving.RULES,
    *headers.RULES,
    *memory.RULES,
    *outcomes.RULES,
    *contexts.RULES,
    *exposure.RULES,
    *mistakes.RULES,
)
_SHARE = 0.5
"""Of the time that is left after reading, for the walk over the tree."""
_BY_CALL: dict[str, list[Rule]] = defaultdict(list)
"""Rules that look at calls, by what is called."""
_WHOLE: list[tuple[Rule, tuple[bytes, ...]]] = []
"""Rules that look at the whole program, with words of which one has to stand in it; none means always."""
for _rule in RULES:
    if all(isinstance(_word, bytes) for _word in _rule.on):
        _WHOLE.append((_rule, tuple(_word for _word in _rule.on if isinstance(_word, bytes))))
    for _name in _rule.on:
        if isinstance(_name, str):
            _BY_CALL[_name].append(_rule)


def look(source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]) -> Look:  # noqa: ARG001 - there is no other engine for Go
    """See what there is. Nothing that is wrong with the text or a rule raises."""
    found, reading = begun(READER, "Go", source, undecodable, deadline)
    if reading is None:
        return found
    if reading.root is not None:
        _see(found, Program(source, reading, reading.root, deadline.share(_SHARE)), deadline)
    if reading.parse is not Parse.FULL:
        found.seen = [less_sure(seen) for seen in found.seen]
    found.run("FH201", partial(_named_secrets, source), deadline)
    return found


def _see(found: Look, program: Program, deadline: Deadline) -> None:
    found.comments = lambda _: comments.markers(program)
    found.statement_lines = lambda: comments.statement_lines(program)
    calls: dict[str, tuple[Rule, list[Call]]] = {}
    for name, called in program.by_name.items():
        for rule in _BY_CALL.get(name, ()):
            calls.setdefault(rule.id, (rule, []))[1].extend(called)
    for rule, of_it in calls.values():
        found.run(rule.id, partial(_each, rule, program, of_it), deadline)
    for rule, markers in _WHOLE:
        if not markers or any(marker in program.data for marker in markers):
            found.run(rule.id, partial(_whole, rule, program), deadline)
    found.want(partial(wants.wanted, program))
    if program.seen.cut_at:
        found.notes.append(cut_short("the walk over the tree", program.seen.cut_at))
    if program.exhausted:
        found.notes.append(cut_short("following values", 1))


def _whole(rule: Rule, program: Program) -> Iterable[Seen]:
    return map(rule.seen, rule.check(program) or ())


def _each(rule: Rule, program: Program, calls: Iterable[Call]) -> Iterator[Seen]:
    for call in calls:
        yield from map(rule.seen, rule.check(program, call) or ())


def _named_secrets(source: Source) -> Iterator[Seen]:
    for seen in named_secrets(source, settings=False):
        yield seen._replace(also=("G101",))
