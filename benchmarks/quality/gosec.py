"""gosec's own samples (``testutils/g*_samples.go``): programs, and how often their rule reports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import tree_sitter_go
from tree_sitter import Language, Node, Parser

from analyzers import analyze
from quality.measures import AT_LEAST, AT_MOST, Measure, share

FOLDERS = ("gosec",)
_DATAFLOW = frozenset({"g115", "g117", "g118", "g407", "g602", "g701"})
"""Families whose rules need types or single assignment form."""
_IMPORTS = re.compile(r"^\s*package \w+[^\n]*$|^\s*import \([^)]*\)|^\s*import [^\n]*$", re.MULTILINE)


class Sample(NamedTuple):
    """One sample: its family, its rule's id, where it stands, its files, and whether gosec reports something."""

    family: str
    rule: str
    name: str
    files: tuple[str, ...]
    bad: bool


def measure(checkout: Path) -> Iterable[Measure]:
    """Say which samples are reported under the id of their rule, or our rule for it."""
    everything = list(samples(checkout))
    whole = {sample: _reports(sample, sample.files) for sample in everything}
    syntax = [sample for sample in everything if sample.family not in _DATAFLOW]
    for what, asked, least in (("that syntax decides", syntax, 0.85), ("of every rule", everything, 0.60)):
        bad, good = ([one for one in asked if one.bad is is_bad] for is_bad in (True, False))
        found, wrong = ([one for one in some if whole[one]] for some in (bad, good))
        missed = tuple(f"`{one.name}` {one.rule}" for one in bad if not whole[one])
        told = tuple(f"`{one.name}` {one.rule}" for one in wrong)
        counts = f"{len(found)} of {len(bad)}", f"{len(wrong)} of {len(good)}"
        yield Measure("gosec", f"bad samples {what}", share(len(found), len(bad)), AT_LEAST, least, counts[0], missed)
        yield Measure("gosec", f"good samples {what}", share(len(wrong), len(good)), AT_MOST, 0.10, counts[1], told)
    other = [one for one in everything if whole[one] != _reports(one, [_IMPORTS.sub("", text) for text in one.files])]
    yield Measure(
        "gosec",
        "samples judged the same without package and imports",
        1 - share(len(other), len(everything)),
        AT_LEAST,
        0.95,
        f"{len(everything) - len(other)} of {len(everything)}",
        tuple(f"`{one.name}` {one.rule}" for one in other),
    )


def _reports(sample: Sample, files: Iterable[str]) -> bool:
    for text in files:
        for finding in analyze(text, "go").findings:
            if sample.rule in finding.also or (sample.rule == "G101" and finding.rule.startswith("FH20")):
                return True
    return False


def samples(checkout: Path) -> Iterator[Sample]:
    """Give every sample: an element of a list of ``{[]string{files}, errors, configuration}``."""
    parser = Parser(Language(tree_sitter_go.language()))
    for path in sorted((checkout / "testutils").glob("g*_samples.go")):
        stack: list[tuple[Node, str]] = [(parser.parse(path.read_bytes()).root_node, "")]
        while stack:
            node, variable = stack.pop()
            name = node.child_by_field_name("name") if node.type == "var_spec" else None
            variable = _text(name) if name is not None else variable
            values = list(_values(node)) if node.type == "literal_value" else []
            files = _files(values[0]) if len(values) > 1 and values[1].type == "int_literal" else None
            number = re.search(r"G(\d{3})", variable)
            if files is None or number is None:
                stack += [(child, variable) for child in reversed(node.named_children)]
            else:
                place = f"{path.stem}:{node.start_point[0] + 1}"
                yield Sample(path.stem[:4], number[0], place, files, int(_text(values[1])) > 0)


def _values(node: Node) -> Iterator[Node]:
    """The values of a composite literal, with or without keys; keys have the order of the fields."""
    for item in node.named_children:
        if item.type in {"literal_element", "keyed_element"}:
            last = item.named_children[-1] if item.type == "keyed_element" else item
            yield last.named_children[0] if last.type == "literal_element" else last


def _files(node: Node) -> tuple[str, ...] | None:
    kind, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if kind is None or body is None or _text(kind) != "[]string":
        return None
    return tuple(_string(value) for value in _values(body))


def _string(node: Node) -> str:
    match node.type:
        case "raw_string_literal":
            return _text(node)[1:-1]
        case "interpreted_string_literal":
            return str(json.loads(_text(node)))
        case "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            return "".join(_string(side) for side in (left, right) if side is not None)
        case _:
            return "".join(_string(child) for child in node.named_children)


def _text(node: Node) -> str:
    return node.text.decode() if node.text is not None else ""
