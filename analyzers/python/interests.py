"""What a Python rule may ask to see, and the table that finds the rules for a node without asking each of them.

A rule's ``on`` holds classes of :mod:`ast` and the values below; its ``check`` is given a node and the scope it is read
in. Most nodes of most texts are of interest to no rule, and cost one look into a dict.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from analyzers.named import NamedTuple
from analyzers.rule import Rule


class Interest(NamedTuple):
    """One kind of place that a rule wants to be shown, and the names it asks for there."""

    kind: str
    names: tuple[str, ...]


def calls(names: str) -> Interest:
    """Calls of what has one of these dotted names, as :mod:`analyzers.python.names` writes them.

    ``package.*`` is everything of that package.
    """
    return Interest("calls", tuple(names.split()))


def methods(names: str) -> Interest:
    """Calls of a function or method whose last word is one of these, whatever it belongs to."""
    return Interest("methods", tuple(names.split()))


def keywords(names: str) -> Interest:
    """Calls that are given one of these keyword arguments."""
    return Interest("keywords", tuple(names.split()))


def mentions(names: str) -> Interest:
    """Names and attributes that are read and have one of these dotted names."""
    return Interest("mentions", tuple(names.split()))


def handed(names: str) -> Interest:
    """Arguments of calls that are a plain name or attribute with one of these dotted names."""
    return Interest("handed", tuple(names.split()))


def assigned(names: str) -> Interest:
    """Assignments to a name, attribute or key of one of these words."""
    return Interest("assigned", tuple(names.split()))


def decorated(names: str) -> Interest:
    """Functions and classes with a decorator of one of these names; the decorator is what is shown."""
    return Interest("decorated", tuple(names.split()))


def imports(names: str) -> Interest:
    """Imports of one of these modules, or of anything in one."""
    return Interest("imports", tuple(names.split()))


def texts(*beginnings: str) -> Interest:
    """Literals that begin like this."""
    return Interest("texts", beginnings)


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
                if isinstance(interest, type):
                    self.kinds[interest] = (*self.kinds.get(interest, ()), rule)
                elif isinstance(interest, Interest):
                    self._add(interest, rule)
                else:
                    raise TypeError(f"{rule.id}: no rule can be interested in {interest!r}")
        self.watched = frozenset(name.rpartition(".")[2] for name in self.mentions)
        """The last words of the names whose mention somebody wants to see."""
        self.handed_words = frozenset(name.rpartition(".")[2] for name in self.handed)
        self.beginnings = tuple(self.texts)
        self.packages_imported = frozenset(name.partition(".")[0] for name in self.imports)

    def _add(self, interest: Interest, rule: Rule) -> None:
        found: Found = getattr(self, interest.kind)
        for name in interest.names:
            if name.endswith(".*"):
                package = name.removesuffix(".*")
                self.packages[package] = (*self.packages.get(package, ()), rule)
            else:
                found[name] = (*found.get(name, ()), rule)
