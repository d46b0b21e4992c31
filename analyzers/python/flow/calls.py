"""What calls give and do: sources, sinks, what makes harmless, methods of texts and containers."""

from __future__ import annotations

import ast

from analyzers.python.flow import containers
from analyzers.python.flow.cleaning import CLEANERS, METHODS, NORMALIZING, RAISING, removed_by, sounds_cleaning
from analyzers.python.flow.containers import DICT
from analyzers.python.flow.expressions import HANDLER, attribute
from analyzers.python.flow.guards import Judge, cleared, matching
from analyzers.python.flow.making import below, put_together, source, unseen
from analyzers.python.flow.reached import Reached, reach, sink_of
from analyzers.python.flow.sinks import PURE
from analyzers.python.flow.sources import CALLS, PICKING, REQUEST_PARTS, REQUESTS
from analyzers.python.flow.sources import METHODS as GIVING
from analyzers.python.flow.state import State
from analyzers.python.flow.values import (
    CLEAN,
    EVERY,
    NORMAL,
    OWN,
    WEB,
    Taint,
    Value,
    all_taints,
    cleaned,
    head_of,
    joined,
    merged,
    through,
)
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from analyzers.python.tree import Tree

_NUMERIC = frozenset({"int", "float", "bool", "UUID"})
_JOINING = frozenset("format join replace format_map".split())
_SAFE_CHARACTERS = frozenset("strip lstrip rstrip lower upper title casefold swapcase capitalize".split())
_MOST_ARGUMENTS = 40
_READING = frozenset({"read_text", "read_bytes"})
_SETTING = 2
_HELD_BY_UNKNOWN = frozenset({"html", "log", "trust", "regex", "attribute"})
"""What functions that nobody knows are taken to make harmless: most of them give something else altogether."""


class Caller(Judge):
    """Evaluates calls."""

    def __init__(self, tree: Tree, steps: int) -> None:
        super().__init__(tree, steps)
        self.reached: list[Reached] = []

    def inline(
        self, function: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.Call, state: State
    ) -> Value:
        """Go through a function or class of the text, with these arguments."""
        raise NotImplementedError

    def call(self, node: ast.Call, state: State) -> Value:
        """What a call gives."""
        function = node.func
        base: Value | None = None
        word = ""
        if function.__class__ is ast.Attribute:
            word = function.attr
            base = self.evaluate(function.value, state)
            callee = attribute(self, base, function)
            names = callee.names or below(base.names, f".{word}")
        else:
            callee = self.evaluate(function, state)
            names = callee.names
            word = function.id if isinstance(function, ast.Name) else ""
        arguments, extra = self._arguments(node, state)
        keywords = {
            one.arg: self.evaluate(one.value, state) for one in node.keywords[:_MOST_ARGUMENTS] if one.arg is not None
        }
        for one in node.keywords[:_MOST_ARGUMENTS]:
            if one.arg is None:
                spread = self.evaluate(one.value, state)
                keywords.update({key: value for key, value in (spread.items or {}).items() if isinstance(key, str)})
                extra += [spread] if spread.taints or spread.rest is not None else []
        if callee.code is not None and callee.attrs is None:
            return self.inline(callee, arguments, keywords, node, state)
        sink = sink_of(names, word, self.tree, base)
        if sink is not None:
            self.reached += reach(sink, node, arguments, keywords, base, state)
        everything = [*arguments, *keywords.values(), *extra]
        return self._given(node, names, word, base, everything, arguments, keywords, state)

    def _arguments(self, node: ast.Call, state: State) -> tuple[list[Value], list[Value]]:
        found: list[Value] = []
        extra: list[Value] = []
        for one in node.args[:_MOST_ARGUMENTS]:
            if one.__class__ is not ast.Starred:
                found.append(self.evaluate(one, state))
                continue
            spread = self.evaluate(one.value, state)
            if spread.ordered and spread.rest is None:
                found += [*(spread.items or {}).values()]
            else:
                extra.append(containers.element(spread))
        return found, extra

    def _given(
        self,
        node: ast.Call,
        names: tuple[str, ...],
        word: str,
        base: Value | None,
        everything: list[Value],
        arguments: list[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> Value:
        known = self._source(node, names, word, base)
        if known is not None:
            return known
        for name in names:
            if name in RAISING and arguments:
                state.clear(cleared(all_taints(arguments[0]), frozenset({EVERY})))
                return _number(name, arguments)
            kinds = CLEANERS.get(name)
            if kinds is not None:
                return _cleaned(node, everything, kinds)
        pure = next((name for name in names if name in PURE), None)
        if pure is not None:
            if base is not None and "()." in pure:
                everything = [base, *everything]
            return _pure(node, pure, arguments, everything, names, state)
        if base is not None:
            given = self._method(node, word, names, base, arguments, keywords, state)
            if given is not None:
                return given
        return self._unknown(node, names, word, base, everything)

    def _source(self, node: ast.Call, names: tuple[str, ...], word: str, base: Value | None) -> Value | None:
        for name in names:
            known = CALLS.get(name)
            if known is not None:
                return source(known[1], known[0], node, below(names, "()"))
        if base is None:
            return None
        if word in REQUEST_PARTS and any(name in REQUESTS for name in base.names):
            return source(f"request.{word}()", WEB, node, below(names, "()"))
        given = GIVING.get(word)
        if given is not None and (given[0] != WEB or HANDLER in base.names or not base.taints):
            if (
                given[0] == WEB
                and word.startswith("get_")
                and not (self.tree.imports("tornado") or HANDLER in base.names)
            ):
                return None
            return source(given[1], given[0], node, below(names, "()"))
        return None

    def _method(
        self,
        node: ast.Call,
        word: str,
        names: tuple[str, ...],
        base: Value,
        arguments: list[Value],
        keywords: dict[str, Value],
        state: State,
    ) -> Value | None:
        if word == "keys" and base.taints and base.items is None:
            return Value(
                tuple(taint._replace(key=(*taint.key, "keys")) for taint in base.taints), names=below(names, "()")
            )
        if word in _READING:
            return source("a file", OWN, node, below(names, "()"))
        if len(arguments) > 1 and any(name.startswith("configparser.") for name in base.names):
            setting = self._setting(word, base, arguments, state)
            if setting is not None:
                return setting
        if word in PICKING and (base.taints or base.items is not None) and arguments:
            return self._picked(node, word, base, arguments, keywords, state)
        if base.items is not None or base.rest is not None or DICT in base.names:
            changed = containers.method(base, word, arguments, state, quiet=bool(self.quiet))
            if changed is not None:
                return changed
        if word == "join" and arguments:
            inner = containers.element(arguments[0])
            items = arguments[0].items
            if isinstance(base.const, str) and arguments[0].ordered and items is not None:
                between = [part for one in items.values() for part in (base, one)][1:]
                return put_together(between, node)
            made = put_together([base, inner, Value(arguments[0].taints)], node)
            made.const, made.head = UNKNOWN, ""
            return made
        if word in {"format", "format_map"} and (isinstance(base.const, str) or base.taints):
            made = put_together([base, *arguments, *keywords.values()], node)
            made.const, made.head = UNKNOWN, head_of(base).partition("{")[0]
            return made
        kinds = METHODS.get(word)
        if kinds is not None:
            return _cleaned(node, [base, *arguments], kinds)
        if isinstance(base.const, str) and not arguments and word in _SAFE_CHARACTERS:
            return Value(const=getattr(base.const, word)())
        if any(name.endswith("re.compile()") for name in base.names) and word in {
            "match",
            "fullmatch",
            "search",
            "sub",
        }:
            return _pattern(node, word, Value(const=base.head), arguments)
        if base.taints or isinstance(base.const, (str, bytes)):
            made = put_together([base, *arguments, *keywords.values()], node)
            made.const, made.names = UNKNOWN, below(base.names, f".{word}()")
            made.head = head_of(base) if word in {"strip", "rstrip", "encode", "decode"} else ""
            made.spots = base.spots
            if any(name in NORMALIZING for name in names):
                made.taints = cleaned(made.taints, frozenset({NORMAL}))
            return made
        return None

    def _setting(self, word: str, base: Value, arguments: list[Value], state: State) -> Value | None:
        """A setting of a parser of configurations, by section and name."""
        section, name = arguments[0].const, arguments[1].const
        key = Value(const=f"{section}/{name}") if isinstance(section, str) and isinstance(name, str) else Value()
        if word == "set" and len(arguments) > _SETTING:
            if not self.quiet:
                containers.put(base, key, arguments[_SETTING], state)
            return CLEAN
        if word == "get" and (base.items is not None or base.rest is not None):
            return containers.item(base, key, ast.Pass())
        return None

    def _picked(
        self, node: ast.Call, word: str, base: Value, arguments: list[Value], keywords: dict[str, Value], state: State
    ) -> Value:
        kind = keywords.get("type")
        if kind is not None and any(name.rpartition(".")[2] in _NUMERIC for name in kind.names):
            return CLEAN
        if base.items is not None and word in {"pop", "setdefault"}:
            changed = containers.method(base, word, arguments, state, quiet=bool(self.quiet))
            if changed is not None:
                return changed
        found = containers.item(base, arguments[0], node)
        if base.items is not None and len(arguments) > 1 and arguments[0].const in base.items:
            return found
        defaults = [*arguments[1:2], *([keywords["default"]] if "default" in keywords else [])]
        if not defaults:
            return found
        made = joined([found, *defaults])
        made.names = found.names
        return made

    def _unknown(
        self, node: ast.Call, names: tuple[str, ...], word: str, base: Value | None, everything: list[Value]
    ) -> Value:
        """What a function gives that nobody knows: what it was given, unless its name says that it cleans it."""
        taints = merged(all_taints(one) for one in everything)
        if base is not None and base.taints:
            taints = merged((taints, base.taints))
        if sounds_cleaning(word):
            return Value(cleaned(taints, frozenset({EVERY})))
        taints = cleaned(through(taints, node.lineno), _HELD_BY_UNKNOWN)
        made = Value(merged((taints, unseen(node).taints)), names=below(names, "()"))
        if any(name.endswith("re.compile") for name in names) and everything:
            made.head = head_of(everything[0])
        return made


def _number(name: str, arguments: list[Value]) -> Value:
    const = arguments[0].const
    if name == "builtins.int" and isinstance(const, (int, float)):
        return Value(const=int(const))
    return CLEAN


def _cleaned(node: ast.Call, everything: list[Value], kinds: frozenset[str]) -> Value:
    if EVERY in kinds:
        return Value()
    taints = merged(all_taints(one) for one in everything)
    value = Value(through(cleaned(taints, kinds), node.lineno))
    if len(everything) == 1 and isinstance(everything[0].const, str):
        value.const = everything[0].const
    return value


def _pure(
    node: ast.Call, name: str, arguments: list[Value], everything: list[Value], names: tuple[str, ...], state: State
) -> Value:
    word = name.rpartition(".")[2]
    if name.startswith("re."):
        if len(arguments) > 1:
            tested = arguments[-1] if word == "sub" else arguments[1]
            return _pattern(node, word, arguments[0], [*arguments[1:2], tested] if word == "sub" else [tested])
        return Value(merged(all_taints(one) for one in everything), names=below(names, "()"))
    if word in {"list", "tuple", "sorted", "reversed", "set", "frozenset", "iter", "deque", "enumerate", "zip"}:
        return containers.copied(word, everything)
    if word in {"dict", "OrderedDict", "SimpleNamespace", "Namespace"}:
        made = Value(items={}, names=(DICT,))
        for one in arguments:
            containers.put_all(made, one, state)
        for keyword, one in zip((one.arg for one in node.keywords), everything[len(arguments) :], strict=False):
            if keyword is not None and made.items is not None:
                made.items[keyword] = one
        return made
    if word in {"map", "filter"}:
        made = Value(items={})
        made.rest = joined(containers.element(one) for one in everything[1:])
        return made
    if name == "os.path.join" or word == "joinpath":
        return put_together(containers.interleaved(everything), node)
    if (
        word in {"str", "Path", "PurePath", "PosixPath", "fspath", "cast", "next", "deepcopy", "copy", "format"}
        and len(everything) == 1
    ):
        value = everything[0] if word != "next" else containers.element(everything[0])
        if word in {"copy", "deepcopy"}:
            return value
        made = value.with_taints(all_taints(value))
        made.items = made.rest = None
        made.names = below(names, "()")
        return made
    made = put_together(everything, node)
    made.const, made.names = UNKNOWN, below(names, "()")
    made.head = head_of(everything[0]) if everything else ""
    made.spots = tuple(spot for one in everything for spot in one.spots)
    if name in NORMALIZING:
        made.taints = cleaned(made.taints, frozenset({NORMAL}))
    return made


def _pattern(node: ast.Call, word: str, pattern: Value, arguments: list[Value]) -> Value:
    """What a regular expression gives: what matched, or what is left."""
    if not arguments:
        return unseen(node)
    tested = arguments[-1] if word != "sub" else arguments[min(1, len(arguments) - 1)]
    taints: tuple[Taint, ...] = through(all_taints(tested), node.lineno)
    if word == "sub":
        kinds = removed_by(pattern.const) if isinstance(pattern.const, str) else frozenset()
        return Value(merged((cleaned(taints, kinds), all_taints(arguments[0]))))
    proofs = matching(word, pattern, tested)
    value = Value(taints)
    if proofs is not None:
        kinds = next(iter(proofs.true.values()), frozenset())
        value.taints = cleaned(taints, kinds)
        value.proofs = proofs
    return value
