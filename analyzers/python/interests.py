"""What a Python rule may ask to see, and the table that finds the rules for a node without asking each of them.

A rule's ``on`` holds classes of :mod:`ast` and the values below; its ``check`` is given a node and the scope it is read
in. Most nodes of most texts are of interest to no rule, and cost one look into a dict.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from analyzers.rule import Rule


class Calls(NamedTuple):
    """Calls of what has one of these dotted names, as :mod:`analyzers.python.names` writes them.

    ``package.*`` is everything of that package.
    """

    names: frozenset[str]


class Methods(NamedTuple):
    """Calls of a function or method whose last word is one of these, whatever it belongs to."""

    names: frozenset[str]


class Keywords(NamedTuple):
    """Calls that are given one of these keyword arguments."""

    names: frozenset[str]


class Mentions(NamedTuple):
    """Names and attributes that are read and have one of these dotted names."""

    names: frozenset[str]


class Handed(NamedTuple):
    """Arguments of calls that are a plain name or attribute with one of these dotted names."""

    names: frozenset[str]


class Assigned(NamedTuple):
    """Assignments to a name, attribute or key of one of these words."""

    names: frozenset[str]


class Decorated(NamedTuple):
    """Functions and classes with a decorator of one of these dotted names; the decorator is what is shown."""

    names: frozenset[str]


class Texts(NamedTuple):
    """Literals that begin like this."""

    beginnings: tuple[str, ...]


class Imports(NamedTuple):
    """Imports of one of these modules, or of anything in one."""

    names: frozenset[str]


def calls(names: str) -> Calls:
    """Calls of these dotted names, divided by spaces."""
    return Calls(frozenset(names.split()))


def methods(names: str) -> Methods:
    """Calls of functions or methods of these names."""
    return Methods(frozenset(names.split()))


def keywords(names: str) -> Keywords:
    """Calls with one of these keyword arguments."""
    return Keywords(frozenset(names.split()))


def mentions(names: str) -> Mentions:
    """Places where one of these dotted names is read."""
    return Mentions(frozenset(names.split()))


def handed(names: str) -> Handed:
    """Arguments that are one of these dotted names."""
    return Handed(frozenset(names.split()))


def assigned(names: str) -> Assigned:
    """Assignments to one of these."""
    return Assigned(frozenset(names.split()))


def decorated(names: str) -> Decorated:
    """Decorators of these dotted names."""
    return Decorated(frozenset(names.split()))


def texts(*beginnings: str) -> Texts:
    """Literals that begin like this."""
    return Texts(beginnings)


def imports(names: str) -> Imports:
    """Imports of one of these modules."""
    return Imports(frozenset(names.split()))


Found = dict[str, tuple[Rule, ...]]


class Table:
    """Which rules want to see what."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.kinds: dict[type[ast.AST], tuple[Rule, ...]] = {}
        self.calls: Found = {}
        self.packages: Found = {}
        self.methods: Found = {}
        self.keywords: Found = {}
        self.mentions: Found = {}
        self.handed: Found = {}
        self.assigned: Found = {}
        self.decorated: Found = {}
        self.texts: Found = {}
        self.imports: Found = {}
        for rule in rules:
            for interest in rule.on:
                match interest:
                    case type():
                        self.kinds[interest] = (*self.kinds.get(interest, ()), rule)
                    case Calls():
                        whole = {name for name in interest.names if name.endswith(".*")}
                        _add(self.calls, interest.names - whole, rule)
                        _add(self.packages, {name.removesuffix(".*") for name in whole}, rule)
                    case Methods():
                        _add(self.methods, interest.names, rule)
                    case Keywords():
                        _add(self.keywords, interest.names, rule)
                    case Mentions():
                        _add(self.mentions, interest.names, rule)
                    case Handed():
                        _add(self.handed, interest.names, rule)
                    case Assigned():
                        _add(self.assigned, interest.names, rule)
                    case Decorated():
                        _add(self.decorated, interest.names, rule)
                    case Texts():
                        _add(self.texts, interest.beginnings, rule)
                    case Imports():
                        _add(self.imports, interest.names, rule)
                    case _:
                        raise TypeError(f"{rule.id}: no rule can be interested in {interest!r}")
        self.watched = frozenset(name.rpartition(".")[2] for name in self.mentions)
        """The last words of the names whose mention somebody wants to see."""
        self.handed_words = frozenset(name.rpartition(".")[2] for name in self.handed)
        self.beginnings = tuple(self.texts)
        self.packages_imported = frozenset(name.partition(".")[0] for name in self.imports)


def _add(found: Found, names: Iterable[str], rule: Rule) -> None:
    for name in names:
        found[name] = (*found.get(name, ()), rule)
