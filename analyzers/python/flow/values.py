"""What is known of a value while its flow is followed: where it comes from, what it is, and what is in it."""

from __future__ import annotations

from collections.abc import Iterable

from analyzers.named import NamedTuple
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from analyzers.python.scopes import Scope

# How far a source is to be feared, the least first.
UNSEEN, PARAMETER, OWN, NET, ARGUMENT, TYPED, WEB = range(7)
"""Of unknown origin; a parameter; files and environment; the network; argv; what is typed in; a web request."""
EVERY = "*"
"""The kind that stands for all kinds of sinks."""
_MOST_TAINTS = 6
_MOST_STEPS = 4
_MOST_ITEMS = 64
_DEEPEST = 4
_MOST_HEAD = 300
_NOTHING: frozenset[str] = frozenset()
NORMAL, NO_DOTS, NO_SLASH = "normal", "no dots", "no slash"
"""What is known of a path: that it holds no ``..`` any more, holds none at all, is not absolute."""
_STAYS = frozenset({NO_DOTS, NO_SLASH})

Key = tuple[object, ...]


class Taint(NamedTuple):
    """One source that a value may come from.

    ``key`` is what a check of the source clears; ``clean`` holds the kinds of sinks that it can no longer harm, and
    what is known of it that makes it clean only together with more; ``path`` the lines that it came through.
    """

    key: Key
    text: str
    line: int
    level: int
    clean: frozenset[str] = frozenset()
    path: tuple[int, ...] = ()

    def harms(self, kind: str, cleared: dict[Key, frozenset[str]]) -> bool:
        """Whether it can still do harm where this kind of sink takes it."""
        known = self.clean
        key = self.key
        while key and cleared:
            known |= cleared.get(key, _NOTHING)
            key = key[:-1]
        return not (kind in known or EVERY in known or (kind in {"path", "program"} and known >= _STAYS))

    def part(self, key: object) -> Taint:
        """The part of it that has this key."""
        text = f"{self.text}[{str(key)[:24]!r}]" if isinstance(key, str) and len(self.text) < _MOST_STEPS * 10 else None
        return self._replace(key=(*self.key[:_DEEPEST], key), text=text or self.text)


class Code(NamedTuple):
    """A function, lambda or class of the source, the scope it is defined in, and what it is bound to."""

    node: ast.AST
    scope: Scope
    owner: Value | None = None


class Proofs(NamedTuple):
    """What a condition clears where it is true, and where it is false."""

    true: dict[Key, frozenset[str]]
    false: dict[Key, frozenset[str]]


class Value:
    """What an expression may be. Containers and objects are changed in place, as they are when the program runs.

    Attributes:
        taints: The sources it may come from; of a container, those of itself as a whole.
        const: The constant it certainly is, or UNKNOWN.
        items: Values by key or index, of a container.
        rest: What is under keys that are not known.
        ordered: Whether ``items`` has all the indexes of a list from 0 on.
        names: Dotted names of what it stands for, as :mod:`analyzers.python.names` writes them.
        code: The function or class it is.
        proofs: What it proves, where it is tested.
        spots: Line and column of the expressions that put it together.
        head: The text it certainly begins with.
        depth: How many branches deep it was made: what happens further in is not certain to happen.
        attrs: Attributes that were set.
    """

    __slots__ = (
        "attrs", "code", "const", "depth", "head", "items", "names", "ordered", "proofs", "rest", "spots", "taints"
    )  # fmt: skip

    def __init__(
        self,
        taints: tuple[Taint, ...] = (),
        const: object = UNKNOWN,
        names: tuple[str, ...] = (),
        items: dict[object, Value] | None = None,
    ) -> None:
        self.taints = taints
        self.const = const
        self.names = names
        self.items = items
        self.rest: Value | None = None
        self.ordered = False
        self.code: Code | None = None
        self.proofs: Proofs | None = None
        self.spots: tuple[tuple[int, int], ...] = ()
        self.head = ""
        self.depth = 0
        self.attrs: dict[str, Value] | None = None

    def with_taints(self, taints: Iterable[Taint]) -> Value:
        """Give the same value with other sources."""
        made = Value(tuple(taints), self.const, self.names, self.items)
        made.rest, made.ordered, made.code, made.proofs = self.rest, self.ordered, self.code, self.proofs
        made.spots, made.head, made.depth, made.attrs = self.spots, self.head, self.depth, self.attrs
        return made


CLEAN = Value()
"""Nothing from outside, and nothing else known."""


def all_taints(value: Value, deep: int = _DEEPEST) -> tuple[Taint, ...]:
    """Every source of a value and of what is in it."""
    if value.items is None and value.rest is None and value.attrs is None:
        return value.taints
    parts: list[Iterable[Taint]] = [value.taints]
    if deep:
        inner = [*(value.items or {}).values(), *(value.attrs or {}).values()][:_MOST_ITEMS]
        if value.rest is not None:
            inner.append(value.rest)
        parts += [all_taints(one, deep - 1) for one in inner]
    return merged(parts)


def merged(parts: Iterable[Iterable[Taint]]) -> tuple[Taint, ...]:
    """Put sources together, each once, what is cleaned least first to be kept."""
    found: dict[Key, Taint] = {}
    for part in parts:
        for taint in part:
            known = found.get(taint.key)
            if known is None:
                found[taint.key] = taint
            elif known.clean != taint.clean:
                found[taint.key] = known._replace(clean=known.clean & taint.clean)
    if len(found) <= _MOST_TAINTS:
        return tuple(found.values())
    return tuple(sorted(found.values(), key=lambda taint: -taint.level)[:_MOST_TAINTS])


def joined(values: Iterable[Value]) -> Value:
    """What may be any of several values."""
    values = list(dict.fromkeys(values))
    if not values:
        return CLEAN
    if len(values) == 1:
        return values[0]
    first = values[0]
    made = Value(merged(value.taints for value in values))
    if all(type(value.const) is type(first.const) and value.const == first.const for value in values):
        made.const = first.const
    made.names = tuple(dict.fromkeys(name for value in values for name in value.names))[:_MOST_TAINTS]
    made.spots = tuple(dict.fromkeys(spot for value in values for spot in value.spots))[:_MOST_TAINTS]
    if all(value.head == first.head for value in values):
        made.head = first.head
    made.code = next((value.code for value in values if value.code is not None), None)
    made.depth = min(value.depth for value in values)
    _join_items(made, [value for value in values if value.items is not None or value.rest is not None])
    attributed = [value.attrs for value in values if value.attrs is not None]
    if attributed:
        keys = list(dict.fromkeys(key for attrs in attributed for key in attrs))[:_MOST_ITEMS]
        made.attrs = {key: joined(attrs[key] for attrs in attributed if key in attrs) for key in keys}
    return made


def _join_items(made: Value, containers: list[Value]) -> None:
    if not containers:
        return
    if len(containers) == 1:
        made.items, made.rest, made.ordered = containers[0].items, containers[0].rest, containers[0].ordered
        return
    keys = list(dict.fromkeys(key for value in containers for key in value.items or {}))[:_MOST_ITEMS]
    made.items = {
        key: joined(value.items[key] for value in containers if value.items is not None and key in value.items)
        for key in keys
    }
    made.rest = joined(value.rest for value in containers if value.rest is not None)
    made.ordered = all(value.ordered and len(value.items or ()) == len(keys) for value in containers)


def through(taints: Iterable[Taint], line: int) -> tuple[Taint, ...]:
    """Note a line that the sources came through."""
    return tuple(
        taint if taint.line == line or line in taint.path else taint._replace(path=(*taint.path, line)[-_MOST_STEPS:])
        for taint in taints
    )


def cleaned(taints: Iterable[Taint], kinds: frozenset[str]) -> tuple[Taint, ...]:
    """The sources after something made them harmless for some kinds of sinks."""
    return tuple(taint._replace(clean=taint.clean | kinds) for taint in taints)


def baked(taints: tuple[Taint, ...], cleared: dict[Key, frozenset[str]]) -> tuple[Taint, ...]:
    """The sources with what is known of them here, to be taken to where it is not."""
    if not cleared:
        return taints
    made = []
    for taint in taints:
        key, known = taint.key, taint.clean
        while key:
            known |= cleared.get(key, _NOTHING)
            key = key[:-1]
        made.append(taint if known == taint.clean else taint._replace(clean=known))
    return tuple(made)


def head_of(value: Value) -> str:
    """The text that a value certainly begins with."""
    return value.const[:_MOST_HEAD] if isinstance(value.const, str) else value.head
