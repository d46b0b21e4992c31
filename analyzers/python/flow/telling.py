"""Turns what reached a sink into findings: new ones, and more to say about those that other rules made."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from analyzers.looking import Look
from analyzers.model import Confidence, Severity
from analyzers.python.flow.following import Followed
from analyzers.python.flow.reached import Reached
from analyzers.python.flow.rules import BY_KIND
from analyzers.python.flow.values import ARGUMENT, NET, OWN, PARAMETER, TYPED, WEB, Taint
from analyzers.python.tree import Tree
from analyzers.rule import Seen

_HIGH, _MEDIUM, _LOW, _INFO = Severity.HIGH, Severity.MEDIUM, Severity.LOW, Severity.INFO
_DEEDS = {
    "code": "is run as code",
    "shell": "is run by a shell",
    "program": "says which program is started",
    "sql": "becomes part of an SQL statement",
    "path": "says which file is used",
    "ssrf": "says where a request goes",
    "redirect": "says where the browser is sent",
    "html": "is shown as HTML",
    "template": "is read as a template",
    "xpath": "becomes part of an XPath expression",
    "ldap": "becomes part of an LDAP query",
    "log": "is written to the log as it is",
    "trust": "goes into the session unchecked",
    "regex": "is read as a pattern",
    "attribute": "says which attribute is used",
    "import": "says what is imported",
    "compile": "is compiled to code",
    "nosql": "becomes part of a query's operators",
    "pickle": "is deserialised",
    "xml": "is parsed as XML",
}
_KNOWN = {
    "code": ("FH101", "FH102"),
    "shell": ("FH110", "FH111", "FH113", "FH114"),
    "sql": ("FH120", "FH121", "FH122"),
    "html": ("FH130", "FH131"),
    "template": ("FH133",),
    "xml": ("FH140", "FH141", "FH142"),
    "pickle": ("FH150", "FH151", "FH152", "FH153", "FH154"),
}
"""The rules that look at the same sinks without knowing what comes to them."""
REFINED = frozenset(rule for rules in _KNOWN.values() for rule in rules)
_GRAVITY: dict[str, dict[int, Severity]] = {
    "code": {WEB: _HIGH, TYPED: _HIGH, ARGUMENT: _MEDIUM, NET: _HIGH},
    "shell": {WEB: _HIGH, TYPED: _HIGH, ARGUMENT: _MEDIUM, NET: _HIGH, PARAMETER: _LOW},
    "program": {WEB: _HIGH, TYPED: _MEDIUM, ARGUMENT: _LOW, NET: _HIGH},
    "sql": {WEB: _HIGH, TYPED: _HIGH, ARGUMENT: _MEDIUM, NET: _MEDIUM},
    "path": {WEB: _HIGH, TYPED: _MEDIUM, ARGUMENT: _LOW, NET: _MEDIUM},
    "ssrf": {WEB: _HIGH, TYPED: _LOW, NET: _LOW},
    "redirect": {WEB: _MEDIUM},
    "html": {WEB: _HIGH},
    "template": {WEB: _HIGH, TYPED: _MEDIUM, ARGUMENT: _LOW, NET: _MEDIUM, PARAMETER: _LOW},
    "xpath": {WEB: _HIGH, TYPED: _MEDIUM, ARGUMENT: _MEDIUM, NET: _MEDIUM, PARAMETER: _LOW},
    "ldap": {WEB: _HIGH, TYPED: _MEDIUM, ARGUMENT: _MEDIUM, NET: _MEDIUM, PARAMETER: _LOW},
    "log": {WEB: _LOW, TYPED: _INFO},
    "trust": {WEB: _LOW},
    "regex": {WEB: _LOW, TYPED: _INFO},
    "attribute": {WEB: _MEDIUM, TYPED: _LOW},
    "import": {WEB: _HIGH, TYPED: _MEDIUM, ARGUMENT: _LOW, NET: _MEDIUM},
    "compile": {WEB: _HIGH, TYPED: _MEDIUM, ARGUMENT: _INFO, NET: _MEDIUM},
    "nosql": {WEB: _HIGH},
    "pickle": {WEB: _HIGH, NET: _HIGH, TYPED: _MEDIUM},
}
"""How grave it is that a source reaches a sink; what is not here is not told."""
_SURE = {WEB: Confidence.HIGH, TYPED: Confidence.HIGH, ARGUMENT: Confidence.HIGH, NET: Confidence.MEDIUM}
_CALMED = {"code": _LOW, "shell": _LOW, "sql": _INFO, "html": _INFO}
_RAISED = frozenset({"sql", "html", "template"})
_MILD = frozenset({"log", "trust", "regex", "attribute"})
_MOST_LINES = 3


def tell(tree: Tree, found: Look, followed: Followed) -> None:
    """Add to what was seen, and make more exact what rules said that did not know where a value comes from."""
    places: dict[tuple[int, int], list[int]] = {}
    for index, seen in enumerate(found.seen):
        if seen.label.id in REFINED:
            places.setdefault((seen.hit.span.line, seen.hit.span.column), []).append(index)
    told: set[int] = set()
    for reached in _worst(followed.reached):
        known = [
            index for index in _at(tree, reached, places) if found.seen[index].label.id in _KNOWN.get(reached.kind, ())
        ]
        taint = reached.taint
        if taint is None:
            if followed.complete:
                for index in known:
                    if index not in told:
                        found.seen[index] = _calmed(found.seen[index], reached.kind)
        elif taint.level >= PARAMETER:
            told.update(known)
            for index in known:
                found.seen[index] = _explained(found.seen[index], reached, taint)
            if not known:
                found.seen += _new(tree, reached, taint)
        else:
            told.update(known)


def _worst(everything: Iterable[Reached]) -> list[Reached]:
    """Of each sink the worst that came to it; those that something reaches first."""
    worst: dict[tuple[str, ast.AST], Reached] = {}
    for one in everything:
        known = worst.get((one.kind, one.node))
        if known is None or _level(one) > _level(known):
            worst[one.kind, one.node] = one if known is None else one._replace(spots=(*one.spots, *known.spots))
    return sorted(worst.values(), key=_level, reverse=True)


def _level(reached: Reached) -> int:
    return -1 if reached.taint is None else reached.taint.level


def _at(tree: Tree, reached: Reached, places: dict[tuple[int, int], list[int]]) -> Iterable[int]:
    """The findings at a sink, or at the texts that were put together for it."""
    node = reached.node
    spots = [(node.lineno, node.col_offset), *reached.spots]  # type: ignore[attr-defined]
    if reached.kind == "sql" and isinstance(node, ast.Call):
        spots += [(one.lineno, one.col_offset) for one in node.args[:2]]
    for line, column in dict.fromkeys(spots):
        yield from places.get((line, tree.source.column(line, column)), ())


def _message(reached: Reached, taint: Taint) -> str:
    sink = reached.node.lineno  # type: ignore[attr-defined]
    between = [str(line) for line in taint.path if line not in {taint.line, sink}][-_MOST_LINES:]
    via = f", through line{'s' if len(between) > 1 else ''} {', '.join(between)}" if between else ""
    return f"{taint.text} (line {taint.line}) {_DEEDS[reached.kind]}{via}"


def _explained(seen: Seen, reached: Reached, taint: Taint) -> Seen:
    hit = seen.hit
    if taint.level <= OWN:
        return seen._replace(hit=hit._replace(message=f"{hit.message}; from {taint.text}, line {taint.line}"))
    severity = hit.severity
    least = WEB if reached.kind == "code" else ARGUMENT
    if taint.level >= least and (reached.kind in _RAISED or severity in {_LOW, _INFO}):
        severity = _GRAVITY.get(reached.kind, {}).get(taint.level, severity)
    if taint.level >= ARGUMENT and reached.kind == "pickle" and taint.level == WEB:
        severity = _HIGH
    return seen._replace(
        hit=hit._replace(message=_message(reached, taint), severity=severity, confidence=_SURE.get(taint.level))
    )


def _calmed(seen: Seen, kind: str) -> Seen:
    calm = _CALMED.get(kind)
    if calm is None or seen.severity.rank <= calm.rank:
        return seen
    message = f"{seen.hit.message}; only what this program allows comes here"
    return seen._replace(hit=seen.hit._replace(severity=calm, message=message))


def _new(tree: Tree, reached: Reached, taint: Taint) -> Iterable[Seen]:
    severity = _GRAVITY.get(reached.kind, {}).get(taint.level)
    rule = BY_KIND.get(reached.kind)
    if severity is None or rule is None:
        return
    if reached.kind == "path" and reached.whole and taint.level in {TYPED, ARGUMENT}:
        # A program that opens the file it is told to open does what it is for.
        severity = _LOW if taint.level == TYPED else None
        if severity is None:
            return
    confidence = _SURE.get(taint.level, Confidence.LOW)
    if reached.kind in _MILD:
        confidence = Confidence.MEDIUM
    node = reached.node
    hit = tree.scope.hit(node, _message(reached, taint), severity=severity, confidence=confidence)  # type: ignore[arg-type]
    yield rule.seen(hit)
