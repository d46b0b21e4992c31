"""What expressions give: constants, texts that are put together, containers and their items, attributes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from analyzers.python.flow import displays, operators
from analyzers.python.flow.containers import element, item
from analyzers.python.flow.making import below, source, unseen
from analyzers.python.flow.sources import (
    CERTAIN_PARTS,
    HANDLER_PARTS,
    MODEL_ANSWERS,
    PERHAPS_REQUEST,
    REQUEST,
    REQUEST_PARTS,
    REQUESTS,
    VALUES,
)
from analyzers.python.flow.state import Exhausted, State, carried
from analyzers.python.flow.values import (
    CLEAN,
    NET,
    WEB,
    Code,
    Proofs,
    Taint,
    Value,
    all_taints,
    head_of,
    joined,
)
from analyzers.python.names import origins
from analyzers.python.scopes import Binding, Scope
from analyzers.python.tree import Tree
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DEEPEST = 60
_MOST_TEXT = 2000
_MOST_NUMBER = 2**63
_MOST_ITEMS = 200
_MOST_NAMES = 4
_LONGEST_NAME = 120
_FIXED_NAMES = frozenset(
    "__file__ __name__ sys.executable sys.prefix sys.platform sys.version os.sep os.linesep os.pathsep os.devnull "
    "os.curdir os.pardir os.name string.ascii_letters string.digits subprocess.PIPE subprocess.DEVNULL".split()
)
_NAMESPACES = ("parse_args()", "parse_args()[]", "parse_known_args()[]", "<model>")
_FIXED_TEXTS = {"os.sep": "/", "os.curdir": ".", "os.pardir": "..", "os.linesep": "\n", "os.pathsep": ":"}
HANDLER = "<handler>"
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class Reader:
    """Evaluates expressions. What it asks of calls and checks is in the classes made of it."""

    def __init__(self, tree: Tree, steps: int) -> None:
        self.tree = tree
        self.steps = steps
        self.top: State | None = None
        self.quiet = 0
        self._deep = 0

    def call(self, node: ast.Call, state: State) -> Value:
        """What a call gives."""
        raise NotImplementedError

    def proofs(self, node: ast.expr, state: State) -> Proofs | None:
        """What a condition proves."""
        raise NotImplementedError

    def member(self, value: Value, name: str) -> Value | None:
        """A method or attribute of the class of an object."""
        raise NotImplementedError

    def evaluate(self, node: ast.AST | None, state: State) -> Value:
        """What an expression gives, in this state."""
        kind = node.__class__
        if kind is ast.Constant:
            return Value(const=node.value)  # type: ignore[union-attr]
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted
        shape = _SHAPES.get(kind)  # type: ignore[arg-type]
        if shape is None:
            return CLEAN
        if self._deep > _DEEPEST:
            return unseen(node)
        self._deep += 1
        try:
            return shape(self, node, state)
        finally:
            self._deep -= 1

    def define(self, node: ast.AST, scope: Scope, state: State) -> None:
        """Know a function or class whose definition was not gone through."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value, state: State) -> None:
        """Give a name, item, attribute or several of them a value."""
        raise NotImplementedError


def _name(run: Reader, node: ast.Name, state: State) -> Value:
    found = state.find(node.id)
    if found is not None:
        return found
    bindings = state.scope.bindings(node.id)
    if len(bindings) == 1 and bindings[0].scope is run.tree.scope and run.top is not None:
        found = _global(run, node.id, bindings[0], run.top)
        if found is not None:
            return found
    names = origins(node, state.scope)
    known = _source_named(names, node)
    if known is not None:
        return known
    if bindings:
        is_known = all(isinstance(binding.value, str) for binding in bindings)
    else:
        is_known = bool(names) and (names[0].startswith("builtins.") or "." in names[0] or names[0] in _FIXED_NAMES)
    if is_known:
        return Value(names=names)
    return unseen(node, names or (node.id,))


def _global(run: Reader, name: str, binding: Binding, top: State) -> Value | None:
    """What a name of the module is, where the module itself was not gone through."""
    value = binding.value
    if value.__class__ in _DEFINITIONS:
        run.define(value, binding.scope, top)  # type: ignore[arg-type]
    elif isinstance(value, ast.expr) and not isinstance(binding.node, ast.withitem):
        top.names[name] = unseen(value, (name,))  # it may be made of itself
        top.names[name] = run.evaluate(value, top)
    return top.names.get(name)


_DEFINITIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef})


def _source_named(names: tuple[str, ...], node: ast.AST) -> Value | None:
    for name in names:
        known = VALUES.get(name)
        if known is not None:
            return source(known[1], known[0], node, names)
    return None


def _attribute(run: Reader, node: ast.Attribute, state: State) -> Value:
    return attribute(run, run.evaluate(node.value, state), node)


def attribute(run: Reader, base: Value, node: ast.Attribute) -> Value:
    """What an attribute of a value is."""
    name = node.attr
    if base.attrs is not None and name in base.attrs:
        return base.attrs[name]
    member = run.member(base, name)
    if member is not None:
        return member
    names = below(base.names, f".{name}")
    known = _source_named(names, node)
    if known is not None:
        return known
    if name in REQUEST_PARTS and (
        any(one in REQUESTS for one in base.names) or (name in CERTAIN_PARTS and PERHAPS_REQUEST in base.names)
    ):
        return source(f"request.{name}", WEB, node, names)
    if name in HANDLER_PARTS and HANDLER in base.names:
        return source(f"self.{name}", WEB, node, names)
    if name == "request" and HANDLER in base.names:
        return Value(names=(REQUEST,))
    if any(one.endswith(MODEL_ANSWERS) for one in names):
        return source("a model's answer", NET, node, names)
    taints = base.taints or (all_taints(base) if base.items is not None else ())
    if taints:
        if any(one.endswith(_NAMESPACES) for one in base.names):
            taints = tuple(_field(taint, name) for taint in taints)
        value = Value(taints, names=names)
        value.spots = base.spots
        return value
    for one in names:
        if one in _FIXED_NAMES:
            return Value(const=_FIXED_TEXTS.get(one, UNKNOWN), names=names)
    return unseen(node, names)


def _field(taint: Taint, name: str) -> Taint:
    text = f"{name[:24]} of {taint.text}" if " of " not in taint.text else taint.text
    return taint._replace(key=(*taint.key, name), text=text)


def _subscript(run: Reader, node: ast.Subscript, state: State) -> Value:
    base = run.evaluate(node.value, state)
    if node.slice.__class__ is ast.Slice:
        return _sliced(run, base, node.slice, state)
    return item(base, run.evaluate(node.slice, state), node)


def _sliced(run: Reader, base: Value, part: ast.Slice, state: State) -> Value:
    bounds = [
        run.evaluate(one, state).const if one is not None else None for one in (part.lower, part.upper, part.step)
    ]
    if base.items is not None or base.rest is not None:
        made = Value(base.taints, names=base.names, items={})
        made.rest, made.depth = element(base), state.depth
        return made
    limits = [one for one in bounds if one is None or isinstance(one, int)]
    if isinstance(base.const, str) and len(limits) == len(bounds) and limits[2] != 0:
        return Value(const=base.const[slice(*limits)])
    made = base.with_taints(base.taints)
    made.const, made.head = UNKNOWN, head_of(base) if bounds[0] in {None, 0} else ""
    if bounds[0] is None and isinstance(bounds[1], int):
        made.head = made.head[: max(0, bounds[1])]
    return made


def _compare(run: Reader, node: ast.Compare, state: State) -> Value:
    left = run.evaluate(node.left, state)
    rights = [run.evaluate(one, state) for one in node.comparators]
    if len(rights) == 1 and left.const is not UNKNOWN and rights[0].const is not UNKNOWN:
        try:
            return Value(const=bool(_COMPARISONS[node.ops[0].__class__](left.const, rights[0].const)))
        except TypeError:
            return CLEAN
    return CLEAN


def _boolean(run: Reader, node: ast.BoolOp, state: State) -> Value:
    values = [run.evaluate(one, state) for one in node.values]
    stops = isinstance(node.op, ast.Or)
    kept = []
    for value in values:
        if value.const is not UNKNOWN and bool(value.const) is not stops and value is not values[-1]:
            continue
        kept.append(value)
        if value.const is not UNKNOWN and bool(value.const) is stops:
            break
    return joined(kept)


def _unary(run: Reader, node: ast.UnaryOp, state: State) -> Value:
    value = run.evaluate(node.operand, state)
    if isinstance(node.op, ast.Not):
        return CLEAN if value.const is UNKNOWN else Value(const=not value.const)
    if isinstance(node.op, ast.USub) and isinstance(value.const, (int, float)):
        return Value(const=-value.const)
    return CLEAN


def _choice(run: Reader, node: ast.IfExp, state: State) -> Value:
    test = run.evaluate(node.test, state)
    if test.const is not UNKNOWN:
        return run.evaluate(node.body if test.const else node.orelse, state)
    proofs = run.proofs(node.test, state)
    ways = []
    for part, proved in ((node.body, proofs and proofs.true), (node.orelse, proofs and proofs.false)):
        inner = state.fork(proved)
        ways.append(carried(run.evaluate(part, inner), inner.cleared))
    return joined(ways)


def _named(run: Reader, node: ast.NamedExpr, state: State) -> Value:
    value = run.evaluate(node.value, state)
    if value.proofs is None:
        proofs = run.proofs(node.value, state)
        if proofs is not None:
            value = value.with_taints(value.taints)
            value.proofs = proofs
    run.assign(node.target, value, state)
    return value


def _inner(run: Reader, node: Any, state: State) -> Value:  # noqa: ANN401 - any node that has a place
    return run.evaluate(node.value, state) if node.value is not None else CLEAN


def _lambda(run: Reader, node: ast.Lambda, state: State) -> Value:
    del run
    value = Value()
    value.code = Code(node, state.scope)
    return value


def _yielded(run: Reader, node: Any, state: State) -> Value:  # noqa: ANN401 - any node that has a place
    value = _inner(run, node, state)
    if isinstance(node, ast.Yield):
        made = Value(items={})
        made.rest = value
        value = made
    state.frame.returned.append((value, state.cleared))
    state.frame.proofs.append(None)
    return unseen(node)


def _called(run: Reader, node: ast.Call, state: State) -> Value:
    return run.call(node, state)


_SHAPES: dict[type[ast.AST], Callable[[Reader, Any, State], Value]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _called,
    ast.BinOp: operators.operation,
    ast.JoinedStr: operators.text,
    ast.FormattedValue: operators.formatted,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.IfExp: _choice,
    ast.List: displays.list_of,
    ast.Tuple: displays.list_of,
    ast.Set: displays.list_of,
    ast.Dict: displays.dict_of,
    ast.ListComp: displays.comprehension,
    ast.SetComp: displays.comprehension,
    ast.GeneratorExp: displays.comprehension,
    ast.DictComp: displays.comprehension,
    ast.NamedExpr: _named,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.Lambda: _lambda,
    ast.Yield: _yielded,
    ast.YieldFrom: _yielded,
}
