"""``match``: the case that a constant takes, or each with what its pattern proves."""

from __future__ import annotations

import ast

from analyzers.python.flow.making import below
from analyzers.python.flow.state import State
from analyzers.python.flow.values import EVERY, Value, all_taints
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from analyzers.python.flow.machine import Machine

_MOST_CASES = 30


def match(run: Machine, node: ast.Match, state: State) -> bool:
    """Go through the cases that may fit; whether what follows is come to."""
    subject = run.evaluate(node.subject, state)
    ways = []
    for case in node.cases:
        fits = _fits(run, case.pattern, subject, state)
        if fits is False:
            continue
        way = state.fork()
        _capture(case.pattern, subject, way)
        if case.guard is not None:
            run.evaluate(case.guard, way)
            proofs = run.proofs(case.guard, way)
            if proofs is not None:
                way.clear(proofs.true)
        if run.execute(case.body, way):
            ways.append(way)
        if fits and case.guard is None:
            break
    else:
        ways.append(state.fork())
    if ways:
        state.become(ways)
    return bool(ways)


def _fits(run: Machine, pattern: ast.pattern, subject: Value, state: State) -> bool | None:
    """Whether a pattern certainly fits or certainly does not."""
    match pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchValue(value=value):
            const = run.evaluate(value, state).const
            return None if const is UNKNOWN or subject.const is UNKNOWN else const == subject.const
        case ast.MatchOr(patterns=several):
            found = [_fits(run, one, subject, state) for one in several[:_MOST_CASES]]
            return True if True in found else None if None in found else False
        case _:
            return None


def _capture(pattern: ast.pattern, subject: Value, state: State) -> None:
    parts: list[ast.AST] = [pattern]
    if isinstance(pattern, (ast.MatchValue, ast.MatchOr)) and not any(
        isinstance(one, ast.MatchAs) for one in ast.walk(pattern)
    ):
        state.clear({taint.key: frozenset({EVERY}) for taint in subject.taints})
    for _ in range(_MOST_CASES):
        if not parts:
            return
        part = parts.pop()
        name = getattr(part, "name", None) or getattr(part, "rest", None)
        if isinstance(name, str):
            state.names[name] = (
                subject if part is pattern else Value(all_taints(subject), names=below(subject.names, "[]"))
            )
        parts += ast.iter_child_nodes(part)
