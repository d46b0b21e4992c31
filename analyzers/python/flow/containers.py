"""What is in lists, tuples, sets and dicts, by index or key where these are known."""

from __future__ import annotations

import ast

from analyzers.python.flow.making import below, source, unseen
from analyzers.python.flow.sources import MODEL_ANSWERS
from analyzers.python.flow.state import State
from analyzers.python.flow.values import CLEAN, NET, Value, joined
from analyzers.python.values import UNKNOWN

_MOST_ITEMS = 200
DICT = "builtins.dict()"
"""What a dict is called, so that going through it gives its keys."""


def item(base: Value, key: Value, node: ast.AST) -> Value:
    """The item of a container, or the part of a source, that has a key."""
    if base.items is not None or base.rest is not None:
        return _of_items(base, key)
    if isinstance(base.const, (str, bytes)) and isinstance(key.const, int):
        try:
            return Value(const=base.const[key.const])
        except IndexError:
            return CLEAN
    names = below(base.names, "[]")
    if any(one.endswith(MODEL_ANSWERS) for one in names):
        return source("a model's answer", NET, node, names)
    if not base.taints:
        value = unseen(node) if base.names else Value()
        value.names = names
        return value
    number = isinstance(key.const, int) and any(taint.text.startswith("sys.argv") for taint in base.taints)
    taints = base.taints
    if key.const is UNKNOWN and base.names:
        # Of which part it is nobody knows; what is checked of it says nothing of the others.
        place = f"?{getattr(node, 'lineno', 0)}"
        taints = tuple(taint._replace(key=(*taint.key, place)) for taint in taints)
    elif isinstance(key.const, str):
        taints = tuple(taint.part(key.const) for taint in taints)
    elif number:
        taints = tuple(taint._replace(key=(*taint.key, key.const), text=f"sys.argv[{key.const}]") for taint in taints)
    value = Value(taints, names=names)
    value.spots = base.spots
    return value


def _of_items(base: Value, key: Value) -> Value:
    items = base.items or {}
    at = key.const
    if at is not UNKNOWN and _hashes(at):
        if base.ordered and isinstance(at, int) and at < 0:
            at += len(items)
        if at in items:
            return items[at]
        if base.rest is not None:
            return base.rest
        return Value(base.taints)
    return joined(
        [
            *items.values(),
            *([base.rest] if base.rest is not None else []),
            *([Value(base.taints)] if base.taints else []),
        ]
    )


def _hashes(value: object) -> bool:
    return isinstance(value, (str, bytes, int, float, bool, type(None)))


def element(base: Value) -> Value:
    """What going through a value gives at each turn."""
    if base.items is not None or base.rest is not None:
        if DICT in base.names:
            return Value(base.taints)
        inner = [*(base.items or {}).values()][:_MOST_ITEMS]
        if base.rest is not None:
            inner.append(base.rest)
        made = joined(inner)
        return made if not base.taints else joined([made, Value(base.taints)])
    return Value(base.taints, names=below(base.names, "[]"))


def put(container: Value, key: Value, value: Value, state: State) -> None:
    """Put a value into a container, under a key that may be known."""
    if container.items is None:
        container.items = {}
    items, at = container.items, key.const
    if at is UNKNOWN or not _hashes(at) or (at not in items and len(items) >= _MOST_ITEMS):
        container.rest = value if container.rest is None else joined([container.rest, value])
        return
    if at in items and state.depth > container.depth:
        items[at] = joined([items[at], value])
    else:
        items[at] = value


def put_all(container: Value, other: Value, state: State) -> None:
    """Put what is in one container into another."""
    for key, value in [*(other.items or {}).items()][:_MOST_ITEMS]:
        put(container, Value(const=key), value, state)
    rest = [one for one in (other.rest, Value(other.taints) if other.taints else None) if one is not None]
    if rest:
        container.rest = joined([*rest, *([container.rest] if container.rest is not None else [])])


def copied(word: str, several: list[Value]) -> Value:
    """A new container with what is in others; with ``enumerate`` and ``zip`` in pairs."""
    made = Value(items={})
    if word == "enumerate" and several:
        pair = Value(items={0: CLEAN, 1: element(several[0])})
        pair.ordered = True
        made.rest = pair
    elif word == "zip":
        pair = Value(items={number: element(one) for number, one in enumerate(several)})
        pair.ordered = True
        made.rest = pair
    elif several:
        first = several[0]
        if word in {"list", "tuple"} and first.ordered and first.items is not None:
            made.items, made.rest, made.ordered = dict(first.items), first.rest, True
        elif first.items is not None or first.rest is not None or first.taints or first.names:
            made.rest = element(first)
    elif word in {"list", "tuple", "deque"}:
        made.ordered = True
    return made


def interleaved(parts: list[Value]) -> list[Value]:
    """The parts of a path, with slashes between them."""
    found: list[Value] = []
    for number, part in enumerate(parts):
        if number:
            found.append(Value(const="/"))
        found.append(part if part.items is None else element(part))
    return found


def method(base: Value, word: str, arguments: list[Value], state: State, *, quiet: bool) -> Value | None:
    """What a method of a container does and gives; None for one that is no container's."""
    change = _CHANGING.get(word)
    if change is not None:
        return CLEAN if quiet else change(base, arguments, state)
    if word == "values":
        made = Value(items={})
        made.rest = joined([*(base.items or {}).values(), *([base.rest] if base.rest is not None else [])])
        return made
    if word == "items":
        pair = Value(
            items={
                0: Value(base.taints),
                1: joined([*(base.items or {}).values(), *([base.rest] if base.rest else [])]),
            }
        )
        pair.ordered = True
        made = Value(items={})
        made.rest = pair
        return made
    if word in {"keys", "index", "count"}:
        return Value(base.taints)
    if word == "copy":
        made = Value(base.taints, names=base.names, items=dict(base.items or {}))
        made.rest, made.ordered, made.depth = base.rest, base.ordered, state.depth
        return made
    if word in {"pop", "popleft", "popitem"}:
        return _pop(base, word, arguments, state, quiet=quiet)
    if word == "setdefault" and len(arguments) > 1:
        found = item(base, arguments[0], ast.Pass())
        if not quiet:
            put(base, arguments[0], joined([found, arguments[1]]), state)
        return joined([found, arguments[1]])
    return None


def _append(base: Value, arguments: list[Value], state: State) -> Value:
    value = arguments[0] if arguments else CLEAN
    if base.items is None:
        base.items = {}
    if base.ordered and state.depth <= base.depth and len(base.items) < _MOST_ITEMS:
        base.items[len(base.items)] = value
    else:
        base.ordered = False
        base.rest = value if base.rest is None else joined([base.rest, value])
    return CLEAN


def _insert(base: Value, arguments: list[Value], state: State) -> Value:
    del state
    value = arguments[-1] if arguments else CLEAN
    base.rest = joined([value, element(base)])
    base.ordered = False
    base.items = {}
    return CLEAN


def _extend(base: Value, arguments: list[Value], state: State) -> Value:
    if not arguments:
        return CLEAN
    other = arguments[0]
    if other.ordered and base.ordered and other.rest is None and state.depth <= base.depth:
        for one in [*(other.items or {}).values()]:
            _append(base, [one], state)
    else:
        base.ordered = False
        base.rest = joined([element(other), *([base.rest] if base.rest is not None else [])])
    return CLEAN


def _update(base: Value, arguments: list[Value], state: State) -> Value:
    for one in arguments:
        put_all(base, one, state)
    return CLEAN


def _clear(base: Value, arguments: list[Value], state: State) -> Value:
    del arguments
    if state.depth <= base.depth:
        base.items, base.rest, base.ordered = {}, None, DICT not in base.names
    return CLEAN


def _shuffle(base: Value, arguments: list[Value], state: State) -> Value:
    del arguments, state
    base.rest, base.items, base.ordered = element(base), {}, False
    return CLEAN


def _remove(base: Value, arguments: list[Value], state: State) -> Value:
    del arguments, state
    base.rest, base.items, base.ordered = element(base), {}, False
    return CLEAN


def _pop(base: Value, word: str, arguments: list[Value], state: State, *, quiet: bool) -> Value:
    items = base.items or {}
    at: object = arguments[0].const if arguments else -1
    if word == "popleft":
        at = 0
    if not base.ordered or not isinstance(at, int) or not items:
        return item(base, Value(const=at) if arguments else Value(), ast.Pass()) if arguments else element(base)
    at = at + len(items) if at < 0 else at
    if at not in items:
        return CLEAN
    found = items[at]
    if not quiet and state.depth <= base.depth:
        left = [value for key, value in items.items() if key != at]
        base.items = dict(enumerate(left))
    return found


_CHANGING = {
    "append": _append,
    "appendleft": _insert,
    "add": _append,
    "insert": _insert,
    "extend": _extend,
    "update": _update,
    "clear": _clear,
    "sort": _shuffle,
    "reverse": _shuffle,
    "remove": _remove,
    "discard": _remove,
    "put": _append,
}
