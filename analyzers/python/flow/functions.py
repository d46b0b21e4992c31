"""Functions and classes of the text: what is handed in comes out again, or is kept in an object."""

from __future__ import annotations

import ast

from analyzers.python.flow.calls import Caller
from analyzers.python.flow.containers import DICT
from analyzers.python.flow.making import unseen
from analyzers.python.flow.state import Cleared, Frame, State, carried, common, united
from analyzers.python.flow.values import CLEAN, EVERY, Code, Proofs, Value, all_taints, joined, merged
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from analyzers.python.tree import Tree

_DEEPEST = 6
_MOST_BASES = 6
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CHOICES = ("Enum", "StrEnum", "IntEnum", "Flag")


class Functions(Caller):
    """Goes into functions of the text.

    Attributes:
        outers: The state in which each function was defined.
        owners: The class of each method.
        classes: What the body of each class binds.
        entered: Functions that were gone through.
        stopped: Whether the function that was called last never returns.
    """

    def __init__(self, tree: Tree, steps: int) -> None:
        super().__init__(tree, steps)
        self.outers: dict[ast.AST, State] = {}
        self.owners: dict[ast.AST, Value] = {}
        self.classes: dict[ast.AST, dict[str, Value]] = {}
        self.entered: set[ast.AST] = set()
        self.stopped = False
        self._stack: list[ast.AST] = []

    def execute(self, body: list[ast.stmt], state: State) -> bool:
        """Go through statements."""
        raise NotImplementedError

    def member(self, value: Value, name: str) -> Value | None:
        """A method or attribute of the class of an object, or of a class."""
        if value.code is None or not isinstance(value.code.node, ast.ClassDef):
            return None
        found = self._in_class(value.code, name)
        if found is None or found.code is None or not isinstance(found.code.node, _FUNCTIONS):
            return found
        words = {_last(one) for one in found.code.node.decorator_list}
        is_object = value.attrs is not None
        made = Value()
        made.code = found.code._replace(owner=None if "staticmethod" in words or not is_object else value)
        if "classmethod" in words:
            made.code = found.code._replace(owner=value)
        if words & {"property", "cached_property"} and is_object:
            outer = self.outers.get(found.code.node)
            return None if outer is None else self.inline(made, [], {}, None, outer.fork())
        return made

    def _in_class(self, code: Code, name: str) -> Value | None:
        pending = [code]
        for _ in range(_MOST_BASES):
            if not pending:
                return None
            one = pending.pop(0)
            found = self.classes.get(one.node, {}).get(name)
            if found is not None:
                return found
            for base in one.node.bases[:_MOST_BASES]:  # type: ignore[attr-defined]
                bindings = one.scope.bindings(base.id) if isinstance(base, ast.Name) else []
                pending += [
                    Code(binding.value, binding.scope)
                    for binding in bindings
                    if isinstance(binding.value, ast.ClassDef)
                ]
        return None

    def inline(
        self, function: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.Call | None, state: State
    ) -> Value:
        """Go through a function or class of the text, with these arguments."""
        code = function.code
        if code is None:
            return CLEAN
        if isinstance(code.node, ast.ClassDef):
            return self._object(code, arguments, keywords, node, state)
        if len(self._stack) >= _DEEPEST or code.node in self._stack:
            self.steps -= 1
            return Value(
                merged([*(all_taints(one) for one in (*arguments, *keywords.values())), unseen(code.node).taints])
            )
        if code.owner is not None:
            arguments = [code.owner, *arguments]
        inner = self._entry(code, state)
        self.bind(code, arguments, keywords, inner, state)
        return self.run(code, inner, state)

    def _entry(self, code: Code, state: State) -> State:
        outer = self.outers.get(code.node)
        scope = self.tree.scope_of(code.node) or code.scope
        inner = State(scope, Frame(code.node), outer or state, state.depth)
        inner.cleared = state.cleared.copy()
        return inner

    def run(self, code: Code, inner: State, state: State) -> Value:
        """Go through the body of a function whose parameters are bound."""
        function: Any = code.node
        self.entered.add(function)
        self._stack.append(function)
        try:
            if isinstance(function, ast.Lambda):
                return self.evaluate(function.body, inner)
            goes_on = self.execute(function.body, inner)
        finally:
            self._stack.pop()
        frame = inner.frame
        ways = list(zip(frame.returned, frame.proofs, strict=True))
        if goes_on:
            ways.append(((Value(const=None), inner.cleared), None))
        if not ways:
            self.stopped = True
            return CLEAN
        value = joined(carried(one, known) for (one, known), _ in ways)
        state.cleared = common([known for (_, known), _ in ways])
        proofs = _proved(ways)
        if proofs is not None:
            value = value.with_taints(value.taints)
            value.proofs = proofs
        return value

    def bind(self, code: Code, arguments: list[Value], keywords: dict[str, Value], inner: State, state: State) -> None:
        """Give the parameters of a function their values."""
        function: Any = code.node
        parameters = function.args
        positional = [*parameters.posonlyargs, *parameters.args]
        defaults = dict(zip(reversed([one.arg for one in positional]), reversed(parameters.defaults), strict=False))
        defaults |= {
            one.arg: default
            for one, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
            if default is not None
        }
        names = inner.names
        for number, one in enumerate(positional):
            if number < len(arguments):
                names[one.arg] = arguments[number]
        for one in (*positional, *parameters.kwonlyargs):
            if one.arg in names:
                continue
            if one.arg in keywords:
                names[one.arg] = keywords[one.arg]
            elif one.arg in defaults:
                names[one.arg] = self.evaluate(defaults[one.arg], self.outers.get(function, state))
        if parameters.vararg is not None:
            rest = Value(items=dict(enumerate(arguments[len(positional) :])))
            rest.ordered = True
            names[parameters.vararg.arg] = rest
        if parameters.kwarg is not None:
            known = {one.arg for one in (*positional, *parameters.kwonlyargs)}
            left: dict[object, Value] = {key: value for key, value in keywords.items() if key not in known}
            names[parameters.kwarg.arg] = Value(items=left, names=(DICT,))

    def _object(
        self, code: Code, arguments: list[Value], keywords: dict[str, Value], node: ast.Call | None, state: State
    ) -> Value:
        class_: Any = code.node
        if any(_last(base) in _CHOICES for base in class_.bases):
            state.clear({taint.key: frozenset({EVERY}) for one in arguments for taint in all_taints(one)})
            return CLEAN
        made = Value()
        made.code, made.attrs, made.depth = code, {}, state.depth
        start = self.member(made, "__init__")
        if start is not None:
            self.inline(start, arguments, keywords, node, state)
            self.stopped = False
            return made
        fields = [
            one.target.id for one in class_.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        ]
        for name, value in [*zip(fields, arguments, strict=False), *keywords.items()]:
            made.attrs[name] = value
        if not fields:
            made.taints = merged(all_taints(one) for one in arguments)
        return made


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _proved(ways: list[tuple[tuple[Value, Cleared], Proofs | None]]) -> Proofs | None:
    """What it proves that a function gave something true, or something false."""
    true: list[Cleared] = []
    false: list[Cleared] = []
    for (value, known), proofs in ways:
        if value.const is UNKNOWN or value.const:
            true.append(united((known, proofs.true)) if proofs is not None else known)
        if value.const is UNKNOWN or not value.const:
            false.append(united((known, proofs.false)) if proofs is not None else known)
    found = Proofs(common(true) if true else {}, common(false) if false else {})
    return found if found.true or found.false else None
