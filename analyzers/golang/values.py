"""What is known of a value without running the program: the constants it may be, its text, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

HOLE = "\0"
"""Stands in a text for a part that is not known."""
NUMBER = "\1"
"""Likewise for a part that can only be a number: it closes no quotation."""

REQUEST, NETWORK, LOCAL, PARAMETER = 4, 3, 2, 1
"""How far away whoever decides a value is: a request's sender, a peer, the program's own user, the caller."""

Constant = str | int | float | bool | None
EVERYWHERE = frozenset({"*"})
_NOWHERE: frozenset[str] = frozenset()
_MAX_CONSTANTS = 8


class Source(NamedTuple):
    """Where a value enters the program."""

    rank: int
    what: str
    """As a reader would name it: ``os.Args``, ``the request``."""
    line: int


class Value(NamedTuple):
    """``constants`` are all values it can have, or None; ``text`` is it as text, with holes; both can be unknown."""

    constants: tuple[Constant, ...] | None = None
    text: str | None = None
    source: Source | None = None
    clean: frozenset[str] = _NOWHERE
    """For which uses it was made harmless: ``html``, ``path`` …, or ``*``."""
    type: str = ""
    node: Node | None = None
    """The composite or function literal, or call, that made it."""
    bindings: dict[str, Value] | None = None
    """What the parameters around ``node`` were."""
    number: bool = False

    @property
    def harmless(self) -> bool:
        """Whether nothing outside the program decides any of it: a constant, a number, or made of these alone."""
        return self.constants is not None or self.number or "*" in self.clean

    @property
    def known(self) -> bool:
        """Whether it is one of a few constants."""
        return self.constants is not None

    @property
    def constant(self) -> Constant:
        """The one constant it is; None if it is not known, or several."""
        return self.constants[0] if self.constants is not None and len(self.constants) == 1 else None

    def from_outside(self, use: str, rank: int = LOCAL) -> Source | None:
        """Return the source if somebody at least ``rank`` away decides the value and it is not harmless for ``use``."""
        if self.source is None or self.source.rank < rank or self.number or self.is_clean(use):
            return None
        return self.source

    def is_clean(self, use: str) -> bool:
        """Whether it was made harmless for this use."""
        return use in self.clean or "*" in self.clean

    @property
    def pattern(self) -> str:
        """The text with holes; one hole if nothing of it is known."""
        if self.text is not None:
            return self.text
        return NUMBER if self.number else HOLE


Bindings = dict[str, Value]
"""What the parameters of a function are within one call of it."""

UNKNOWN = Value()
A_NUMBER = Value(number=True)


def of(constant: Constant, type_: str = "") -> Value:
    """Return the value that is this constant."""
    return Value((constant,), constant if isinstance(constant, str) else None, type=type_, number=_is_number(constant))


def _is_number(constant: Constant) -> bool:
    return isinstance(constant, (int, float))


def either(values: Iterable[Value]) -> Value:
    """Return what is known of a value that is one of several."""
    several = list(values)
    if len(several) == 1:
        return several[0]
    if not several:
        return UNKNOWN
    constants: list[Constant] | None = []
    for value in several:
        if value.constants is None or constants is None:
            constants = None
        else:
            constants += [constant for constant in value.constants if constant not in constants]
    if constants is not None and len(constants) > _MAX_CONSTANTS:
        constants = None
    worst = _worst(several)
    telling = next((value for value in several if HOLE in value.pattern and not value.harmless), None)
    shown = telling or next((value for value in several if value.text is not None), worst)
    made = next((value for value in several if value.node is not None), UNKNOWN)
    return Value(
        constants=None if constants is None else tuple(constants),
        text=shown.text,
        source=worst.source,
        clean=_common(several),
        type=next((value.type for value in several if value.type), ""),
        node=made.node,
        bindings=made.bindings,
        number=all(value.number for value in several),
    )


def joined(values: Iterable[Value]) -> Value:
    """Return the text made of these one after the other."""
    several = list(values)
    constants: tuple[Constant, ...] | None = None
    if several and all(value.constants is not None for value in several):
        first = [value.constants[0] for value in several if value.constants]
        if len(first) == len(several) and all(isinstance(constant, str) for constant in first):
            constants = ("".join(str(constant) for constant in first),)
    return Value(
        constants=constants,
        text="".join(value.pattern for value in several),
        source=_worst(several).source,
        clean=EVERYWHERE if all(value.harmless for value in several) else _common(several),
        type="string",
    )


def passed(values: Iterable[Value], clean: frozenset[str] = _NOWHERE, type_: str = "") -> Value:
    """Return what is known of a result into which these went."""
    several = list(values)
    if clean is EVERYWHERE or (several and all(value.harmless for value in several)):
        return Value(clean=EVERYWHERE, type=type_)
    return Value(source=_worst(several).source, clean=_common(several) | clean, type=type_)


def cleaned(value: Value, clean: frozenset[str]) -> Value:
    """Return the value after something made it harmless for these uses."""
    return value._replace(clean=value.clean | clean)


def _worst(values: list[Value]) -> Value:
    """Return the one that whoever is furthest away decides, harmless ones last."""
    found = UNKNOWN
    rank = -1
    for value in values:
        if value.source is not None:
            own = 0 if value.number or value.clean is EVERYWHERE else value.source.rank
            if own > rank:
                found, rank = value, own
    return found


def _common(values: list[Value]) -> frozenset[str]:
    """Return the uses for which all that comes from outside is harmless."""
    cleans = [value.clean for value in values if value.source is not None and not value.number and not value.known]
    if not cleans:
        unknown = [value.clean for value in values if not value.known and not value.number]
        return frozenset.intersection(*unknown) if unknown else _NOWHERE
    return frozenset.intersection(*cleans)
