"""Goes through statements in the order in which they run, as far as reading can tell."""

from __future__ import annotations

import ast
from collections.abc import Callable

from analyzers.python.flow.cases import match
from analyzers.python.flow.containers import DICT, element, put, put_all
from analyzers.python.flow.functions import Functions
from analyzers.python.flow.making import put_together
from analyzers.python.flow.reached import weigh
from analyzers.python.flow.sinks import STOPPING
from analyzers.python.flow.state import Cleared, State
from analyzers.python.flow.values import Code, Value, joined, through
from analyzers.python.names import origins
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from analyzers.python.scopes import Scope

_TURNS = 3
_DEEPEST = 60
_TESTS = (ast.Compare, ast.BoolOp, ast.UnaryOp)
_SESSIONS = ("flask.session", "request.session", "<request>.session", "quart.session", ".session")


class Machine(Functions):
    """Follows what flows through a module."""

    def settle(self) -> None:
        """Be ready for the next part, however the last one ended."""
        self._deep = self.quiet = 0
        self._stack.clear()
        self.stopped = False

    def define(self, node: ast.AST, scope: Scope, state: State) -> None:
        """Know a function or class whose definition was not gone through."""
        if node in self.classes or node in self.outers:
            return
        act = _class if isinstance(node, ast.ClassDef) else _function
        act(self, node, state if state.scope is scope else State(scope, state.frame, state))  # type: ignore[arg-type]

    def execute(self, body: list[ast.stmt], state: State) -> bool:
        """Go through statements; whether what follows them is come to."""
        self._deep += 1
        try:
            if self._deep > _DEEPEST:
                return True
            for statement in body:
                self.steps -= 1
                act = _STATEMENTS.get(statement.__class__)
                if act is not None and not act(self, statement, state):
                    return False
            return True
        finally:
            self._deep -= 1

    def assign(self, target: ast.expr, value: Value, state: State) -> None:
        """Give a name, item, attribute or several of them a value."""
        match target:
            case ast.Name():
                self._name_at(target.id, state).names[target.id] = _passed(value, target.lineno)
            case ast.Attribute():
                self._set_attribute(target, value, state)
            case ast.Subscript():
                self._set_item(target, value, state)
            case ast.Tuple() | ast.List():
                items = value.items if value.ordered and value.rest is None else None
                fits = items is not None and len(items) == len(target.elts)
                whole = element(value)
                for number, part in enumerate(target.elts):
                    if isinstance(part, ast.Starred):
                        rest = Value(items={})
                        rest.rest = whole
                        self.assign(part.value, rest, state)
                    else:
                        self.assign(part, items[number] if fits and items is not None else whole, state)
            case ast.Starred():
                self.assign(target.value, value, state)
            case _:
                pass

    def _name_at(self, name: str, state: State) -> State:
        owner = state.scope.elsewhere.get(name)
        at: State | None = state.outer
        while owner is not None and at is not None:
            if at.scope is owner:
                return at
            at = at.outer
        return state

    def _set_attribute(self, target: ast.Attribute, value: Value, state: State) -> None:
        base = self.evaluate(target.value, state)
        if isinstance(target.value, ast.Name) and base.attrs is None and base.code is None:
            base = base.with_taints(base.taints)
            base.attrs = {}
            state.names[target.value.id] = base
        attrs = base.attrs
        if attrs is None:
            return
        known = attrs.get(target.attr)
        value = _passed(value, target.lineno)
        if known is not None and state.depth > base.depth:
            value = joined([known, value])
        attrs[target.attr] = value

    def _set_item(self, target: ast.Subscript, value: Value, state: State) -> None:
        base = self.evaluate(target.value, state)
        key = self.evaluate(target.slice, state)
        if any(name.endswith(_SESSIONS) for name in base.names):
            for one in (value, key):
                self.reached += [found for found in weigh("trust", target, one, state) if found.taint is not None]
            return
        if isinstance(key.const, str) and key.const.lower() == "location":
            self.reached += weigh("redirect", target, value, state)
        if isinstance(target.value, ast.Name) and base.items is None and base.rest is None:
            made = base.with_taints(base.taints)
            made.items, made.names, made.depth = {}, (*base.names, DICT), state.depth
            state.names[target.value.id] = base = made
        put(base, key, _passed(value, target.lineno), state)


def _passed(value: Value, line: int) -> Value:
    """A value that comes through a line. Containers stay the ones they are."""
    if not value.taints or value.items is not None or value.rest is not None or value.attrs is not None:
        return value
    taints = through(value.taints, line)
    return value if taints == value.taints else value.with_taints(taints)


def _assignment(run: Machine, node: ast.Assign, state: State) -> bool:
    value = run.evaluate(node.value, state)
    if value.proofs is None and node.value.__class__ in _TESTS:
        proofs = run.proofs(node.value, state)
        if proofs is not None:
            value = value.with_taints(value.taints)
            value.proofs = proofs
    for target in node.targets:
        run.assign(target, value, state)
    return True


def _annotated(run: Machine, node: ast.AnnAssign, state: State) -> bool:
    if node.value is not None:
        run.assign(node.target, run.evaluate(node.value, state), state)
    return True


def _augmented(run: Machine, node: ast.AugAssign, state: State) -> bool:
    old = run.evaluate(node.target, state)
    new = run.evaluate(node.value, state)
    if old.items is not None or old.rest is not None:
        if DICT in old.names:
            put_all(old, new, state)
        else:
            old.ordered = False
            put(old, Value(), element(new) if new.items is not None else new, state)
        return True
    if isinstance(node.op, (ast.Add, ast.Mod, ast.Div)):
        made = put_together([old, new], node)
        if isinstance(node.op, ast.Mod) or isinstance(old.const, (int, float)):
            made.const = UNKNOWN
    else:
        made = Value()
    run.assign(node.target, made, state)
    return True


def _expression(run: Machine, node: ast.Expr, state: State) -> bool:
    run.stopped = False
    run.evaluate(node.value, state)
    value = node.value.value if isinstance(node.value, ast.Await) else node.value
    if run.stopped:
        run.stopped = False
        return False
    return not (isinstance(value, ast.Call) and not STOPPING.isdisjoint(origins(value.func, state.scope)))


def _branches(run: Machine, node: ast.If, state: State) -> bool:
    test = run.evaluate(node.test, state)
    if test.const is not UNKNOWN:
        return run.execute(node.body if test.const else node.orelse, state)
    proofs = run.proofs(node.test, state)
    ways = []
    for body, proved in ((node.body, proofs and proofs.true), (node.orelse, proofs and proofs.false)):
        way = state.fork(proved or None)
        if run.execute(body, way):
            ways.append(way)
    if ways:
        state.become(ways)
    return bool(ways)


def _loop(run: Machine, node: Any, state: State) -> bool:  # noqa: ANN401 - any node that has a place
    frame = state.frame
    turns = max(1, _TURNS - len(frame.loops))
    frame.loops.append([])
    over: Cleared | None = None
    known = None
    for _ in range(turns):
        now = {name: value.taints for name, value in state.names.items()}
        if now == known:
            break
        known = now
        way = state.fork()
        if isinstance(node, ast.While):
            test = run.evaluate(node.test, way)
            proofs = run.proofs(node.test, way) if test.const is UNKNOWN else None
            if proofs is not None:
                way.clear(proofs.true)
                over = proofs.false
            if test.const is not UNKNOWN and not test.const:
                break
        else:
            run.assign(node.target, element(run.evaluate(node.iter, way)), way)
        goes_on = run.execute(node.body, way)
        state.become([state.fork(), *frame.loops[-1], *([way] if goes_on else [])])
        frame.loops[-1].clear()
    frame.loops.pop()
    if over:
        state.clear(over)
    return run.execute(node.orelse, state) if node.orelse else not _endless(node)


def _endless(node: ast.AST) -> bool:
    """Whether a loop is only ever left by returning: what follows it is never come to."""
    if not (isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value):
        return False
    return not any(isinstance(one, ast.Break) for part in node.body for one in ast.walk(part))


def _left(run: Machine, node: ast.stmt, state: State) -> bool:
    del run, node
    state.leave_loop()
    return False


def _attempt(run: Machine, node: Any, state: State) -> bool:  # noqa: ANN401 - any node that has a place
    before = state.fork()
    body = state.fork()
    body.depth = state.depth
    goes_on = run.execute(node.body, body) and (not node.orelse or run.execute(node.orelse, body))
    ways = [body] if goes_on else []
    caught = before.fork()
    for name, value in body.names.items():
        if name not in caught.names:
            caught.names[name] = value
    if node.handlers:
        middle = State(state.scope, state.frame, state.outer, state.depth)
        middle.names = before.names.copy()
        middle.become([before, body])
        for handler in node.handlers:
            way = middle.fork()
            if handler.name:
                way.names[handler.name] = Value()
            if run.execute(handler.body, way):
                ways.append(way)
    if ways:
        state.become(ways)
    goes = run.execute(node.finalbody, state) if node.finalbody else True
    return bool(ways) and goes


def _with(run: Machine, node: Any, state: State) -> bool:  # noqa: ANN401 - any node that has a place
    for item in node.items:
        value = run.evaluate(item.context_expr, state)
        if item.optional_vars is not None:
            run.assign(item.optional_vars, value, state)
    return run.execute(node.body, state)


def _return(run: Machine, node: ast.Return, state: State) -> bool:
    value = run.evaluate(node.value, state) if node.value is not None else Value(const=None)
    proofs = run.proofs(node.value, state) if node.value is not None and state.frame.node is not None else None
    if state.frame.page and node.value is not None:
        shown = value.items[0] if value.ordered and value.items and 0 in value.items else value
        if shown.items is None and shown.rest is None:
            run.reached += [one for one in weigh("html", node, shown, state) if one.taint is not None]
    state.frame.returned.append((value, state.cleared.copy()))
    state.frame.proofs.append(proofs)
    return False


def _raise(run: Machine, node: ast.Raise, state: State) -> bool:
    if node.exc is not None:
        run.evaluate(node.exc, state)
    return False


def _function(run: Machine, node: Any, state: State) -> bool:  # noqa: ANN401 - any node that has a place
    for decorator in node.decorator_list:
        run.evaluate(decorator, state)
    value = Value()
    value.code = Code(node, state.scope)
    run.outers.setdefault(node, state)
    state.names[node.name] = value
    return True


def _class(run: Machine, node: ast.ClassDef, state: State) -> bool:
    value = Value()
    value.code = Code(node, state.scope)
    state.names[node.name] = value
    scope = run.tree.scope_of(node)
    if scope is not None:
        inner = State(scope, state.frame, state, state.depth)
        run.execute(node.body, inner)
        run.classes[node] = inner.names
        for one in node.body:
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                run.outers[one] = state
                run.owners[one] = value
    return True


def _asserted(run: Machine, node: ast.Assert, state: State) -> bool:
    run.evaluate(node.test, state)
    proofs = run.proofs(node.test, state)
    if proofs is not None:
        state.clear(proofs.true)
    return True


def _imported(run: Machine, node: Any, state: State) -> bool:  # noqa: ANN401 - any node that has a place
    del run
    for alias in node.names:
        state.names.pop(alias.asname or alias.name.partition(".")[0], None)
    return True


def _deleted(run: Machine, node: ast.Delete, state: State) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Name):
            state.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            base = run.evaluate(target.value, state)
            key = run.evaluate(target.slice, state)
            if base.items is not None and not base.ordered and isinstance(key.const, str):
                base.items.pop(key.const, None)
    return True


_STATEMENTS: dict[type[ast.AST], Callable[[Machine, Any, State], bool]] = {
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.If: _branches,
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.While: _loop,
    ast.Break: _left,
    ast.Continue: _left,
    ast.Try: _attempt,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Match: match,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Assert: _asserted,
    ast.Import: _imported,
    ast.ImportFrom: _imported,
    ast.Delete: _deleted,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _attempt
