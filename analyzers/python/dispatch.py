"""Shows every node of a tree to the rules that want to see it, once to each."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator

from analyzers.deadline import Deadline
from analyzers.looking import Look, crashed, cut_short
from analyzers.python.interests import Table
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.tree import Tree
from analyzers.rule import Rule

_CHECK_EVERY = 256
_ALL = "all rules"


def dispatch(tree: Tree, table: Table, found: Look, deadline: Deadline) -> None:
    """Collect what the rules see in a tree. A rule that raises is noted once, and the others go on."""
    crashes: set[str] = set()
    for number, (rules, node, scope) in enumerate(_meetings(tree, table)):
        if not number % _CHECK_EVERY and deadline.passed():
            found.notes.append(cut_short(_ALL, getattr(node, "lineno", 1)))
            return
        for rule in rules:
            try:
                hits = rule.check(node, scope)
                if hits is not None:
                    found.seen += [rule.seen(hit) for hit in hits]
            except Exception as error:  # noqa: BLE001 - a rule meets hostile text; what it raises is told, not thrown
                if rule.id not in crashes:
                    crashes.add(rule.id)
                    found.notes.append(crashed(rule.id, getattr(node, "lineno", 1), type(error).__name__))


_Meetings = Iterator[tuple[Iterable[Rule], ast.AST, Scope]]


def _meetings(tree: Tree, table: Table) -> _Meetings:
    """Give the rules for each node, calls first: what a call says about its arguments is known when they come."""
    by_kind = tree.by_kind
    yield from _calls(tree, table)
    for kind, rules in table.kinds.items():
        for node, scope in by_kind.get(kind, ()):
            yield rules, node, scope
    for mention, scope in tree.mentions:
        wanted = _named(origins(mention, scope), table.mentions)
        if wanted:
            yield wanted, mention, scope
    yield from _assignments(tree, table)
    yield from _decorators(tree, table)
    beginnings = table.beginnings
    for text, scope in by_kind.get(ast.Constant, ()):
        if text.value.startswith(beginnings):
            yield (
                _once(rule for word in beginnings if text.value.startswith(word) for rule in table.texts[word]),
                text,
                scope,
            )
    yield from _imports(tree, table)


def _calls(tree: Tree, table: Table) -> _Meetings:
    by_name, by_method, by_keyword, handed = table.calls, table.methods, table.keywords, table.handed
    packages, handed_words = table.packages, table.handed_words
    for call, scope in tree.by_kind.get(ast.Call, ()):
        function = call.func
        kind = function.__class__
        rules: tuple[Rule, ...] = ()
        if kind is ast.Attribute:
            rules = by_method.get(function.attr, ())
        elif kind is ast.Name:
            rules = by_method.get(function.id, ())
        for name in origins(function, scope):
            if name in by_name:
                rules += by_name[name]
            if name.partition(".")[0] in packages:
                rules += packages[name.partition(".")[0]]
        for keyword in call.keywords:
            if keyword.arg in by_keyword:
                rules += by_keyword[keyword.arg]
        if rules:
            yield _once(rules) if len(rules) > 1 else rules, call, scope
        for argument in call.args:
            if _word(argument) in handed_words:
                for name in origins(argument, scope):
                    if name in handed:
                        yield handed[name], argument, scope


def _word(node: ast.expr) -> str | None:
    """The last word of a name or attribute, or the key of an item."""
    kind = node.__class__
    if kind is ast.Name:
        return node.id  # type: ignore[attr-defined,no-any-return]
    if kind is ast.Attribute:
        return node.attr  # type: ignore[attr-defined,no-any-return]
    if kind is ast.Subscript:
        key = node.slice  # type: ignore[attr-defined]
        return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
    return None


def _assignments(tree: Tree, table: Table) -> _Meetings:
    for node, scope in tree.by_kind.get(ast.Assign, ()):
        for target in node.targets:
            word = _word(target)
            if word in table.assigned:
                yield table.assigned[word], node, scope


def _decorators(tree: Tree, table: Table) -> _Meetings:
    for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        for node, scope in tree.by_kind.get(kind, ()):
            for decorator in node.decorator_list:
                rules = _named(origins(decorator, scope), table.decorated)
                if rules:
                    yield rules, decorator, scope


def _named(names: Iterable[str], rules: dict[str, tuple[Rule, ...]]) -> Collection[Rule]:
    return _once(rule for name in names if name in rules for rule in rules[name])


def _once(rules: Iterable[Rule]) -> Collection[Rule]:
    return {rule.id: rule for rule in rules}.values()


def _imports(tree: Tree, table: Table) -> _Meetings:
    for kind in (ast.Import, ast.ImportFrom):
        for node, scope in tree.by_kind.get(kind, ()):
            if not table.packages_imported.isdisjoint(_packages(node)):
                rules = _named(imported(node), table.imports)
            else:
                continue
            if rules:
                yield rules, node, scope


def _packages(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").partition(".")[0]]
    return [alias.name.partition(".")[0] for alias in node.names]


def imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Every module, and every package around it, that the statement may import."""
    if isinstance(node, ast.ImportFrom):
        if node.level:
            return []
        names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    else:
        names = [alias.name for alias in node.names]
    found: dict[str, None] = {}
    for name in names:
        parts = name.split(".")
        found.update(dict.fromkeys(".".join(parts[:end]) for end in range(1, len(parts) + 1)))
    return list(found)
