"""What expressions give: constants, texts that are put together, containers and their items, attributes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from analyzers.python.flow.containers import DICT, element, item, put, put_all
from analyzers.python.flow.making import below, put_together, source, unseen
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
    EVERY,
    NET,
    UNSEEN,
    WEB,
    Code,
    Proofs,
    Taint,
    Value,
    all_taints,
    cleaned,
    head_of,
    joined,
    merged,
    through,
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
    "os.curdir os.name string.ascii_letters string.digits subprocess.PIPE subprocess.DEVNULL builtins.True".split()
)
_NAMESPACES = ("parse_args()", "parse_args()[]", "parse_known_args()[]", "<model>")
HANDLER = "<handler>"
_NUMBERS: dict[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
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
    if any(one in _FIXED_NAMES for one in names):
        return Value(names=names)
    return unseen(node, names)


def _field(taint: Taint, name: str) -> Taint:
    text = f"{name[:24]} of {taint.text}" if " of " not in taint.text else taint.text
    return taint._replace(key=(*taint.key, name), text=text)


def _subscript(run: Reader, node: ast.Subscript, state: State) -> Value:
    base = run.evaluate(node.value, state)
    if node.slice.__class__ is ast.Slice:
        return _sliced(run, base, node.slice, state)  # type: ignore[arg-type]
    return item(base, run.evaluate(node.slice, state), node)


def _sliced(run: Reader, base: Value, part: ast.Slice, state: State) -> Value:
    bounds = [
        run.evaluate(one, state).const if one is not None else None for one in (part.lower, part.upper, part.step)
    ]
    if base.items is not None or base.rest is not None:
        made = Value(base.taints, names=base.names, items={})
        made.rest, made.depth = element(base), state.depth
        return made
    if isinstance(base.const, str) and all(one is None or isinstance(one, int) for one in bounds) and bounds[2] != 0:
        return Value(const=base.const[slice(*bounds)])
    made = base.with_taints(base.taints)
    made.const, made.head = UNKNOWN, head_of(base) if bounds[0] in {None, 0} else ""
    if bounds[0] is None and isinstance(bounds[1], int):
        made.head = made.head[: max(0, bounds[1])]
    return made


def _operation(run: Reader, node: ast.BinOp, state: State) -> Value:
    rights: list[ast.BinOp] = []
    left: ast.expr = node
    while left.__class__ is ast.BinOp:
        rights.append(left)  # type: ignore[arg-type]
        left = left.left  # type: ignore[attr-defined]
    value = run.evaluate(left, state)
    if len(rights) > 1:
        return _chain(run, value, rights, state)
    return _operate(value, node, run.evaluate(node.right, state))


def _chain(run: Reader, value: Value, rights: list[ast.BinOp], state: State) -> Value:
    if all(one.op.__class__ is ast.Add for one in rights) and not isinstance(value.const, (int, float)):
        parts = [value, *(run.evaluate(one.right, state) for one in reversed(rights))]
        return _added(parts, rights[0])
    for one in reversed(rights):
        value = _operate(value, one, run.evaluate(one.right, state))
    return value


def _added(parts: list[Value], node: ast.BinOp) -> Value:
    if any(part.items is not None or part.rest is not None for part in parts):
        made = Value(merged(part.taints for part in parts), items={})
        made.rest = joined(element(part) for part in parts)
        return made
    if all(isinstance(part.const, (int, float)) for part in parts):
        return Value(const=sum(part.const for part in parts))  # type: ignore[misc]
    return put_together(parts, node)


def _operate(left: Value, node: ast.BinOp, right: Value) -> Value:
    kind = node.op.__class__
    if isinstance(left.const, (int, float)) and isinstance(right.const, (int, float)):
        return _computed(left.const, kind, right.const)
    if kind is ast.Add:
        return _added([left, right], node)
    if kind is ast.Mod:
        if isinstance(left.const, str) and "%" in left.const:
            fields = left.const.replace("%%", "").count("%")
            if fields == sum(left.const.count(one) for one in ("%d", "%i", "%f", "%x")):
                return CLEAN
        made = put_together([left, right], node)
        made.const = UNKNOWN
        made.head = head_of(left).partition("%")[0]
        if isinstance(left.const, str) and left.const.count("%") == left.const.count("%r"):
            made.taints = cleaned(made.taints, frozenset({"log"}))
        return made
    if kind is ast.Div:
        made = put_together([left, Value(const="/"), right], node)
        made.names = left.names or right.names
        return made
    if kind is ast.BitOr:
        return joined([left, right])
    if kind is ast.Mult:
        return Value(merged((all_taints(left), all_taints(right))))
    return CLEAN


def _computed(left: Any, kind: type[ast.operator], right: Any) -> Value:  # noqa: ANN401 - numbers
    compute = _NUMBERS.get(kind)
    if compute is None or abs(left) > _MOST_NUMBER or abs(right) > _MOST_NUMBER:
        return CLEAN
    try:
        return Value(const=compute(left, right))
    except (ArithmeticError, ValueError):
        return CLEAN


def _text(run: Reader, node: ast.JoinedStr, state: State) -> Value:
    return put_together([run.evaluate(part, state) for part in node.values[:_MOST_ITEMS]], node)


def _formatted(run: Reader, node: ast.FormattedValue, state: State) -> Value:
    value = run.evaluate(node.value, state)
    spec = node.format_spec
    if isinstance(spec, ast.JoinedStr) and len(spec.values) == 1:
        last = spec.values[0]
        if isinstance(last, ast.Constant) and str(last.value)[-1:] in tuple("dfxXbeEgGn%"):
            return CLEAN
    if node.conversion == ord("r"):
        return Value(cleaned(all_taints(value), frozenset({"log"})))
    return value


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


def _list(run: Reader, node: ast.List | ast.Tuple | ast.Set, state: State) -> Value:
    made = Value(items={})
    made.depth = state.depth
    made.ordered = True
    assert made.items is not None  # noqa: S101 - for the type checker
    for number, part in enumerate(node.elts[:_MOST_ITEMS]):
        if part.__class__ is ast.Starred:
            inner = element(run.evaluate(part.value, state))  # type: ignore[attr-defined]
            made.rest = inner if made.rest is None else joined([made.rest, inner])
            made.ordered = False
        else:
            made.items[number] = run.evaluate(part, state)
    return made


def _dict(run: Reader, node: ast.Dict, state: State) -> Value:
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


def _comprehension(run: Reader, node: Any, state: State) -> Value:  # noqa: ANN401 - four kinds
    inner = state.fork()
    for generator in node.generators[:_MOST_NAMES]:
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


def _named(run: Reader, node: ast.NamedExpr, state: State) -> Value:
    value = run.evaluate(node.value, state)
    if value.proofs is None:
        proofs = run.proofs(node.value, state)
        if proofs is not None:
            value = value.with_taints(value.taints)
            value.proofs = proofs
    run.assign(node.target, value, state)
    return value


def _inner(run: Reader, node: Any, state: State) -> Value:  # noqa: ANN401 - several kinds
    return run.evaluate(node.value, state) if node.value is not None else CLEAN


def _lambda(run: Reader, node: ast.Lambda, state: State) -> Value:
    value = Value()
    value.code = Code(node, state.scope)
    return value


def _yielded(run: Reader, node: Any, state: State) -> Value:  # noqa: ANN401 - two kinds
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
    ast.BinOp: _operation,
    ast.JoinedStr: _text,
    ast.FormattedValue: _formatted,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.IfExp: _choice,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Set: _list,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.NamedExpr: _named,
    ast.Await: _inner,
    ast.Starred: _inner,
    ast.Lambda: _lambda,
    ast.Yield: _yielded,
    ast.YieldFrom: _yielded,
}
