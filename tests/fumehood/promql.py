"""What a PromQL expression asks for, read off its syntax tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import promql_parser as syntax

TARGET = frozenset({"job", "instance"})
"""Labels that Prometheus adds to every series."""

Labels = Mapping[str, frozenset[str]]
"""What each label of a metric may say."""


@dataclass(frozen=True)
class Selector:
    """One metric that is asked for, and what its labels must say."""

    name: str
    matchers: tuple[tuple[str, str, str], ...]


def parsed(text: str) -> Any:
    """Parse it, with Grafana's own variables filled in."""
    for variable, value in (("$__rate_interval", "1m"), ("$__range", "1h")):
        text = text.replace(variable, value)
    return syntax.parse(text)


def selectors(tree: Any) -> Iterator[Selector]:
    """Give every metric that is asked for."""
    for node in nodes(tree):
        if isinstance(node, syntax.VectorSelector):
            found = tuple((one.name, str(one.op), one.value) for one in node.matchers.matchers)
            yield Selector(node.name, found)


def nodes(tree: Any) -> list[Any]:
    """Give every node."""
    found: list[Any] = []
    syntax.walk(tree, lambda node: found.append(node) or True)
    return found


def wrong_labels(tree: Any, known: Mapping[str, Labels]) -> list[str]:
    """Give what is grouped by, or matched, and is no label of what it is applied to, or a value that it never has."""
    wrong = []
    for node in nodes(tree):
        if isinstance(node, syntax.AggregateExpr) and node.modifier is not None:
            inner = labels_of(node.expr, known)
            wrong += [f"by {label}" for label in node.modifier.labels if label not in inner]
    for one in selectors(tree):
        for label, op, value in one.matchers:
            if label in TARGET:
                continue
            values = known.get(one.name, {}).get(label)
            if values is None:
                wrong.append(f"{one.name} has no {label}")
            else:
                asked = value.split("|") if op.endswith("Re") else [value]
                wrong += [f"{one.name} never has {label}={each}" for each in asked if each not in values]
    return wrong


def labels_of(tree: Any, known: Mapping[str, Labels]) -> frozenset[str]:
    """Give the labels of what an expression gives."""
    match tree:
        case syntax.AggregateExpr():
            return frozenset(tree.modifier.labels) if tree.modifier is not None else frozenset()
        case syntax.VectorSelector():
            return frozenset(known.get(tree.name, {})) | TARGET
        case syntax.MatrixSelector():
            return labels_of(tree.vector_selector, known)
        case syntax.ParenExpr():
            return labels_of(tree.expr, known)
        case syntax.BinaryExpr():
            return labels_of(tree.lhs, known)
        case syntax.Call():
            inner = frozenset[str]().union(*(labels_of(each, known) for each in tree.args))
            return inner - {"le"} if tree.func.name == "histogram_quantile" else inner
        case _:
            return frozenset()
