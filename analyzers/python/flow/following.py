"""Goes through a module and its functions once, and tells what reaches which sink."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from analyzers.deadline import Deadline
from analyzers.named import NamedTuple
from analyzers.python.flow.choosing import Way, choose
from analyzers.python.flow.entries import Entry, handler, is_handler, parameter
from analyzers.python.flow.machine import Machine
from analyzers.python.flow.reached import Reached
from analyzers.python.flow.state import Exhausted, Frame, State
from analyzers.python.flow.values import PARAMETER, Code, Value
from analyzers.python.tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STEPS, _STEPS_OF_A_LINE, _MOST_STEPS = 2_500, 1, 4_000
"""What one text may cost, in nodes gone through: so much, so much more for each line, and no more than that."""
_STEPS_OF_ONE = 2_000
"""What one function may."""


class Followed(NamedTuple):
    """What reached which sinks, and whether everything could be gone through."""

    reached: tuple[Reached, ...]
    complete: bool


def follow(tree: Tree, deadline: Deadline, lines: Iterable[int] = ()) -> Followed:
    """Follow the flow of data through a tree. ``lines`` are those of findings that this may clear."""
    chosen = choose(tree, lines)
    machine = Machine(tree, min(_MOST_STEPS, _STEPS + _STEPS_OF_A_LINE * len(tree.source.lines)))
    top = State(tree.scope, Frame(None), None)
    machine.top = top
    complete = not chosen.module or _spend(machine, lambda: machine.execute(tree.module.body, top))
    objects: dict[ast.AST, Value] = {}
    for way in chosen.ways:
        if deadline.passed():
            return Followed(tuple(machine.reached), complete=False)
        if way.entry.level == PARAMETER and way.called_as in chosen.called and way.node in machine.entered:
            continue
        complete &= _spend(machine, lambda way=way: _enter(machine, way, top, objects))
    return Followed(tuple(machine.reached), complete)


def _spend(machine: Machine, work: Any) -> bool:  # noqa: ANN401 - any node that has a place
    """Do a part of the work within what one part may cost; whether that was enough."""
    total = machine.steps
    machine.steps = min(total, _STEPS_OF_ONE)
    allowed = machine.steps
    try:
        work()
    except (Exhausted, RecursionError):
        return False
    finally:
        machine.steps = total - (allowed - max(0, machine.steps))
        machine.settle()
    return True


def _enter(machine: Machine, way: Way, top: State, objects: dict[ast.AST, Value]) -> None:
    function = way.node
    inner_scope = machine.tree.scope_of(function)
    if inner_scope is None:
        return
    outer = machine.outers.get(function, top)
    frame = Frame(function, page=way.entry.page)
    state = State(inner_scope, frame, outer)
    owner = None
    if way.owner is not None:
        owner = _object(machine, way, top, objects)
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    for number, one in enumerate(arguments):
        if number == 0 and owner is not None and one.arg in {"self", "cls"}:
            state.names[one.arg] = owner
        else:
            state.names[one.arg] = parameter(one, function, way.scope, inner_scope, way.entry)
    for more in (function.args.vararg, function.args.kwarg):
        if more is not None:
            state.names[more.arg] = parameter(more, function, way.scope, inner_scope, way.entry)
    machine.run(Code(function, way.scope, owner), state, state)


def _object(machine: Machine, way: Way, top: State, objects: dict[ast.AST, Value]) -> Value:
    """The object whose methods are entered, the same for all of them."""
    class_ = way.owner
    assert class_ is not None  # noqa: S101 - for the type checker
    known = objects.get(class_)
    if known is not None:
        return known
    machine.define(class_, way.scope.parent or way.scope, top)
    made = handler() if is_handler(class_, way.scope) else Value()
    made.code, made.attrs = Code(class_, way.scope.parent or way.scope), {}
    objects[class_] = made
    start = machine.member(made, "__init__")
    if start is not None and start.code is not None:
        scope = machine.tree.scope_of(start.code.node)
        node: Any = start.code.node
        if scope is not None:
            entry = Entry(PARAMETER)
            given = [parameter(one, node, way.scope, scope, entry) for one in node.args.args[1:]]
            keywords = {one.arg: parameter(one, node, way.scope, scope, entry) for one in node.args.kwonlyargs}
            machine.inline(start, given, keywords, None, top.fork())
    return made
