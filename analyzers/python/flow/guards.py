"""What a condition proves of the sources in it, where it is true and where it is false."""

from __future__ import annotations

import ast
from collections.abc import Callable

from analyzers.python.flow.cleaning import DANGEROUS, allowed_by, sounds_judging
from analyzers.python.flow.containers import element
from analyzers.python.flow.expressions import Reader
from analyzers.python.flow.state import Cleared, State, common, united
from analyzers.python.flow.values import (
    EVERY,
    NO_DOTS,
    NO_SLASH,
    NORMAL,
    UNSEEN,
    Proofs,
    Taint,
    Value,
    all_taints,
    head_of,
)
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_ALL: frozenset[str] = frozenset({EVERY})
_WORDY = frozenset("isdigit isnumeric isdecimal isalnum isalpha isidentifier".split())
_NUMBERS = frozenset("int float bool complex Decimal UUID date datetime IPv4Address".split())
_HOST_JUDGES = frozenset("url_has_allowed_host_and_scheme is_safe_url is_safe_redirect_url".split())
_COMMON = frozenset("commonpath commonprefix".split())
_HOSTLY = frozenset("netloc hostname host".split())
_MATCHING = frozenset("match fullmatch search".split())
_MOST_PARTS = 24
_SHORTEST_HOST = 8


def cleared(taints: Iterable[Taint], kinds: frozenset[str]) -> Cleared:
    """Say that these sources are harmless for kinds of sinks."""
    return {taint.key: kinds for taint in taints}


class Judge(Reader):
    """Reads conditions."""

    def proofs(self, node: ast.expr, state: State) -> Proofs | None:
        """What a condition proves; None for nothing. Its parts are evaluated again, which changes nothing."""
        shape = _SHAPES.get(node.__class__)
        self.steps -= 1
        return None if shape is None or self.steps < 0 else shape(self, node, state)

    def quietly(self, node: ast.expr, state: State) -> Value:
        """Evaluate once more, in a state that is thrown away, and without changing containers."""
        self.quiet += 1
        try:
            return self.evaluate(node, state.fork())
        finally:
            self.quiet -= 1


def _not(run: Judge, node: ast.UnaryOp, state: State) -> Proofs | None:
    if not isinstance(node.op, ast.Not):
        return None
    proofs = run.proofs(node.operand, state)
    return None if proofs is None else Proofs(proofs.false, proofs.true)


def _both(run: Judge, node: ast.BoolOp, state: State) -> Proofs | None:
    found = [run.proofs(part, state) or Proofs({}, {}) for part in node.values[:_MOST_PARTS]]
    if isinstance(node.op, ast.And):
        return Proofs(united(one.true for one in found), common(one.false for one in found))
    return Proofs(common(one.true for one in found), united(one.false for one in found))


def _named(run: Judge, node: ast.Name | ast.NamedExpr, state: State) -> Proofs | None:
    return run.quietly(node, state).proofs


def _compared(run: Judge, node: ast.Compare, state: State) -> Proofs | None:
    if len(node.ops) != 1:
        found = [
            run.proofs(ast.copy_location(ast.Compare(left, [sign], [right]), node), state) or Proofs({}, {})
            for left, sign, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
        ]
        return Proofs(united(one.true for one in found), common(one.false for one in found))
    sign, left, right = node.ops[0], run.quietly(node.left, state), run.quietly(node.comparators[0], state)
    match sign:
        case ast.In():
            return _within(node, left, right)
        case ast.NotIn():
            proofs = _within(node, left, right)
            return None if proofs is None else Proofs(proofs.false, proofs.true)
        case ast.Eq() | ast.Is():
            return _equal(node, left, right)
        case ast.NotEq() | ast.IsNot():
            proofs = _equal(node, left, right)
            return None if proofs is None else Proofs(proofs.false, proofs.true)
        case _:
            return None


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _equal(node: ast.Compare, left: Value, right: Value) -> Proofs | None:
    if left.proofs is not None or right.proofs is not None:
        # ``re.match(…) is None``, ``check(x) == True``
        tested, other = (left, right) if left.proofs is not None else (right, left)
        if other.const is None or other.const is False:
            return Proofs(tested.proofs.false, tested.proofs.true)  # type: ignore[union-attr]
        return tested.proofs if other.const is True else None
    if _COMMON & {_last(node.left), _last(node.comparators[0])}:
        return Proofs(cleared((*all_taints(left), *all_taints(right)), frozenset({"path"})), {})
    for tested, other in ((left, right), (right, left)):
        if tested.taints and other.const is not UNKNOWN and other.const is not None and not other.taints:
            return Proofs(cleared(tested.taints, _ALL), {})
        if tested.taints and _HOSTLY & {_last(node.left), _last(node.comparators[0])} and not _harmful(other):
            return Proofs(cleared(tested.taints, frozenset({"ssrf", "redirect"})), {})
    return None


def _harmful(value: Value) -> bool:
    return any(taint.level > UNSEEN for taint in all_taints(value))


def _within(node: ast.Compare, left: Value, right: Value) -> Proofs | None:
    if _last(node.comparators[0]) == "parents":
        return Proofs(cleared(right.taints, frozenset({"path"})), {})
    if isinstance(left.const, str) and right.taints:
        if left.const == "'":
            in_quotes = ("xpath", "sql", "code") if isinstance(node.comparators[0], ast.Subscript) else ("xpath", "sql")
            return Proofs({}, cleared(right.taints, frozenset(in_quotes)))
        kinds = {"..": NO_DOTS, "/": NO_SLASH, "\n": "log", "'": "", "://": ""}.get(left.const, "")
        return Proofs({}, cleared(right.taints, frozenset({kinds}))) if kinds else None
    tested = left.taints
    if not tested or _harmful(right):
        return None
    if isinstance(right.const, str):
        text = right.const
        missing = frozenset(
            kind for kind, characters in DANGEROUS.items() if characters and set(characters) <= set(text)
        )
        sound = frozenset(kind for kind, characters in DANGEROUS.items() if not any(one in text for one in characters))
        return Proofs(cleared(tested, sound), cleared(tested, missing))
    if right.items is not None and ".." in {one.const for one in right.items.values() if isinstance(one.const, str)}:
        return Proofs(cleared(tested, _ALL), cleared(tested, frozenset({NO_DOTS})))
    if right.items is not None or right.taints or right.names:
        bad = any(word in _last(node.comparators[0]).lower() for word in ("block", "black", "deny", "bad", "forbid"))
        return None if bad else Proofs(cleared(tested, _ALL), {})
    return None


def _called(run: Judge, node: ast.Call, state: State) -> Proofs | None:
    function, word = node.func, _last(node)
    if isinstance(function, ast.Attribute):
        if word in _WORDY:
            return Proofs(cleared(all_taints(run.quietly(function.value, state)), _ALL), {})
        if word in {"startswith", "is_relative_to", "endswith"} and node.args:
            return _begins(run, node, function.value, state)
    if word == "isinstance" and len(node.args) > 1:
        classes = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        if all(_last(one) in _NUMBERS for one in classes):
            return Proofs(cleared(run.quietly(node.args[0], state).taints, _ALL), {})
        return None
    if word in {"all", "any"} and len(node.args) == 1 and isinstance(node.args[0], (ast.GeneratorExp, ast.ListComp)):
        return _each(run, word, node.args[0], state)
    if word in _HOST_JUDGES and node.args:
        return Proofs(cleared(run.quietly(node.args[0], state).taints, frozenset({"redirect", "ssrf"})), {})
    if word in {"isabs", "dirname"} and node.args:
        return Proofs({}, cleared(run.quietly(node.args[0], state).taints, frozenset({NO_SLASH})))
    if word == "bool" and node.args:
        return run.proofs(node.args[0], state)
    value = run.quietly(node, state)
    if value.proofs is not None:
        return value.proofs
    if sounds_judging(word):
        taints = [taint for one in node.args for taint in run.quietly(one, state).taints]
        return Proofs(cleared(taints, _ALL), {}) if taints else None
    return None


def _begins(run: Judge, node: ast.Call, base: ast.expr, state: State) -> Proofs | None:
    tested, other = run.quietly(base, state), run.quietly(node.args[0], state)
    if not tested.taints or _harmful(other):
        return None
    if _last(node) == "endswith":
        return None
    if _last(node) == "is_relative_to" or any(NORMAL in taint.clean for taint in tested.taints):
        return Proofs(cleared(tested.taints, frozenset({"path"})), {})
    text = head_of(other)
    if text == "/":
        return Proofs({}, cleared(tested.taints, frozenset({NO_SLASH})))
    _, scheme, rest = text.partition("://")
    if scheme and len(rest) > 1 and "/" in rest:
        return Proofs(cleared(tested.taints, frozenset({"ssrf", "redirect"})), {})
    return None


def _each(run: Judge, word: str, node: ast.GeneratorExp | ast.ListComp, state: State) -> Proofs | None:
    inner = state.fork()
    for generator in node.generators:
        run.assign(generator.target, element(run.evaluate(generator.iter, inner)), inner)
    # ``any(bad in text for bad in "…")`` goes through what is sought, not through what is tested.
    generator = node.generators[0]
    sought = run.quietly(generator.iter, inner)
    if word == "any" and isinstance(node.elt, ast.Compare) and isinstance(node.elt.ops[0], ast.In):
        characters = _characters(sought)
        tested = run.quietly(node.elt.comparators[0], inner)
        if characters and tested.taints:
            kinds = frozenset(kind for kind, needed in DANGEROUS.items() if needed and set(needed) <= characters)
            if ".." in characters:
                kinds |= {NO_DOTS}
            if "/" in characters:
                kinds |= {NO_SLASH}
            return Proofs({}, cleared(tested.taints, kinds)) if kinds else None
    proofs = run.proofs(node.elt, inner)
    if proofs is None:
        return None
    return Proofs(proofs.true, {}) if word == "all" else Proofs({}, proofs.false)


def _characters(value: Value) -> set[str]:
    if isinstance(value.const, str):
        return set(value.const)
    return {one.const for one in (value.items or {}).values() if isinstance(one.const, str)}


def matching(word: str, pattern: Value, tested: Value) -> Proofs | None:
    """What it proves that a text matches a pattern."""
    if not isinstance(pattern.const, str) or word not in _MATCHING:
        return None
    anchored = word != "search" or pattern.const.startswith(("^", r"\A"))
    kinds = allowed_by(pattern.const, whole=word == "fullmatch") if anchored else frozenset()
    return Proofs(cleared(all_taints(tested), kinds), {}) if kinds else None


_SHAPES: dict[type[ast.AST], Callable[[Judge, Any, State], Proofs | None]] = {
    ast.UnaryOp: _not,
    ast.BoolOp: _both,
    ast.Name: _named,
    ast.NamedExpr: _named,
    ast.Compare: _compared,
    ast.Call: _called,
}
