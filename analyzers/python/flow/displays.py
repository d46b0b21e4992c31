"""What lists, tuples, sets and dicts that are written out hold, and comprehensions."""

from __future__ import annotations

import ast

from analyzers.python.flow.containers import DICT, element, put, put_all
from analyzers.python.flow.state import State, carried
from analyzers.python.flow.values import Value, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from analyzers.python.flow.expressions import Reader

_MOST_ITEMS = 200
_MOST_GENERATORS = 4


def list_of(run: Reader, node: ast.List | ast.Tuple | ast.Set, state: State) -> Value:
    """What a list, tuple or set that is written out holds."""
    made = Value(items={})
    made.depth = state.depth
    made.ordered = True
    assert made.items is not None  # noqa: S101 - for the type checker
    for number, part in enumerate(node.elts[:_MOST_ITEMS]):
        if part.__class__ is ast.Starred:
            inner = element(run.evaluate(part.value, state))
            made.rest = inner if made.rest is None else joined([made.rest, inner])
            made.ordered = False
        else:
            made.items[number] = run.evaluate(part, state)
    return made


def dict_of(run: Reader, node: ast.Dict, state: State) -> Value:
    """What a dict that is written out holds."""
    made = Value(items={}, names=(DICT,))
    made.depth = state.depth
    for key, part in [*zip(node.keys, node.values, strict=True)][:_MOST_ITEMS]:
        value = run.evaluate(part, state)
        at = None if key is None else run.evaluate(key, state)
        if at is None:
            put_all(made, value, state)
        else:
            put(made, at, value, state)
    return made


def comprehension(run: Reader, node: Any, state: State) -> Value:  # noqa: ANN401 - any node that has a place
    """What a comprehension gives: each of its values, as its conditions leave them."""
    inner = state.fork()
    for generator in node.generators[:_MOST_GENERATORS]:
        run.assign(generator.target, element(run.evaluate(generator.iter, inner)), inner)
        for condition in generator.ifs:
            run.evaluate(condition, inner)
            proofs = run.proofs(condition, inner)
            if proofs is not None:
                inner.clear(proofs.true)
    made = Value(items={}, names=(DICT,) if node.__class__ is ast.DictComp else ())
    made.depth = state.depth
    if node.__class__ is ast.DictComp:
        put(made, run.evaluate(node.key, inner), carried(run.evaluate(node.value, inner), inner.cleared), inner)
    else:
        value = run.evaluate(node.elt, inner)
        made.rest = carried(value, inner.cleared)
    return made
