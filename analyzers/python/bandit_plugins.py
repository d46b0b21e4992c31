"""Bandit's plugins, run over our tree: its checks and its import bookkeeping, but none of its managers or files.

Bandit walks recursively, keeps its settings on its own functions and logs what goes wrong. Here the walk is ours,
settings are read and never written, and what goes wrong is told. Its modules are imported on first use.
"""

from __future__ import annotations

import ast
import importlib
import io
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from analyzers.deadline import Deadline
from analyzers.model import Confidence, Severity, Span
from analyzers.python.tree import Tree, header_lines
from analyzers.quiet import no_warnings
from analyzers.rule import Hit, Label, Seen
from analyzers.secrets import MASK
from analyzers.source import Source

Check = Callable[..., Any]

_PASSWORD_IDS = frozenset({"B105", "B106", "B107"})
_PASSWORD_TEXT = re.compile(r"[^']*'(.*)'\Z", re.DOTALL)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\u200f]")
_BIDI_ID = "B613"
_LOADING = threading.Lock()
_CHECK_EVERY = 64
# The parser hands out one shared object for each of these, so they have no place and no parent.
_SHARED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class CutShortError(Exception):
    """The time for Bandit's plugins was over before the last node; ``line`` is where they stopped."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


@dataclass(frozen=True, slots=True)
class PluginError:
    """A plugin raised instead of answering."""

    plugin: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class _Test:
    check: Check
    name: str
    id: str
    config: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Plugins:
    by_node: dict[str, tuple[_Test, ...]]
    context: Callable[[dict[str, Any]], Any]
    blacklist_names: dict[str, str]


def load() -> None:
    """Import Bandit now rather than at the first analysis."""
    _plugins()


def run(tree: Tree, deadline: Deadline) -> Iterator[Seen | PluginError]:
    """Run every plugin that looks at nodes. Raises CutShortError when the deadline passes."""
    plugins = _plugins()
    walk = _Walk(tree.source, plugins)
    for index, node in enumerate(_in_order(tree.module)):
        if not index % _CHECK_EVERY and deadline.passed():
            raise CutShortError(getattr(node, "lineno", 1))
        for kind in walk.enter(node):
            for test in plugins.by_node.get(kind, ()):
                outcome = walk.ask(test, node)
                if isinstance(outcome, PluginError):
                    yield outcome
                elif outcome is not None:
                    yield _seen(outcome, test, node, tree, plugins)


def _in_order(module: ast.Module) -> list[ast.AST]:
    """Every node but the module, as Bandit meets them, each told of the node around it as Bandit does it."""
    nodes: list[ast.AST] = []
    stack: list[ast.AST] = [module]
    while stack:
        node = stack.pop()
        nodes.append(node)
        children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, _SHARED)]
        for child in children:
            child._bandit_parent = node  # type: ignore[attr-defined] # noqa: SLF001 - where Bandit's plugins look for it
        stack += reversed(children)
    return nodes[1:]


def run_on_text(source: Source) -> Iterator[Seen | PluginError]:
    """Run the plugins that look at the text as a whole."""
    plugins = _plugins()
    mark = _BIDI.search(source.text)
    for test in plugins.by_node.get("File", ()):
        if test.id == _BIDI_ID:
            # It asks ten questions of every line; put them to the one line that can have an answer.
            if mark is None:
                continue
            data = "\n\n" + source.lines[source.place(mark.start())[0] - 1]
        else:
            data = source.text
        raw = {"filename": "snippet.py", "lineno": 1, "file_data": _file(data)}
        try:
            issue = test.check(plugins.context(raw), *test.config)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            yield PluginError(test.id, 1, type(error).__name__)
            continue
        if issue is not None:
            at = mark.start() if mark and test.id == _BIDI_ID else 0
            hit = Hit(span=source.between(at, min(at + 1, len(source.text))), message=issue.text)
            yield Seen(_label(issue, test.id, test.name), hit)


def _file(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode("utf-8", "replace"))


class _Walk:
    """What Bandit's plugins may ask about the node at hand and the imports before it."""

    def __init__(self, source: Source, plugins: _Plugins) -> None:
        self._plugins = plugins
        self._imports: set[str] = set()
        self._aliases: dict[str, str] = {}
        self._context: dict[str, Any] = {}
        self._common = {
            "imports": self._imports,
            "import_aliases": self._aliases,
            "filename": "snippet.py",
            "file_data": _file(source.text),
        }
        self._names = importlib.import_module("bandit.core.utils")

    def enter(self, node: ast.AST) -> Iterator[str]:
        """Prepare the context for a node and yield the kind under which plugins registered for it."""
        kind = type(node).__name__
        context = self._context = {**self._common, "node": node, "lineno": getattr(node, "lineno", 1)}
        match node:
            case ast.Constant(value=str() | bytes()):
                if not isinstance(node._bandit_parent, ast.Expr):  # type: ignore[attr-defined] # noqa: SLF001
                    kind = "Str" if isinstance(node.value, str) else "Bytes"
                    context[kind.lower()] = node.value
                    yield kind
                return
            case ast.Constant():
                return
            case ast.Call():
                context["call"] = node
                try:
                    qualname = self._names.get_call_name(node, self._aliases)
                except RecursionError:
                    qualname = ""
                context["qualname"], context["name"] = qualname, qualname.split(".")[-1]
            case ast.FunctionDef():
                context.update(function=node, qualname=node.name, name=node.name)
            case ast.Import() | ast.ImportFrom(module=None):
                kind = "Import"
                for alias in node.names:
                    if alias.asname:
                        self._aliases[alias.asname] = alias.name
                    self._imports.add(alias.name)
                    context["module"] = alias.name
            case ast.ImportFrom():
                for alias in node.names:
                    self._aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                    self._imports.add(f"{node.module}.{alias.name}")
                    context.update(module=node.module, name=alias.name)
            case _:
                pass
        yield kind

    def ask(self, test: _Test, node: ast.AST) -> Any:  # noqa: ANN401 - Bandit's own Issue, or a PluginError
        """Put one plugin's question."""
        try:
            return test.check(self._plugins.context(self._context), *test.config)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            return PluginError(test.id, getattr(node, "lineno", 1), type(error).__name__)


def _seen(issue: Any, test: _Test, node: ast.AST, tree: Tree, plugins: _Plugins) -> Seen:  # noqa: ANN401
    id_ = issue.test_id or test.id
    name = plugins.blacklist_names.get(id_, test.name)
    span = _span(tree, node, issue.lineno)
    message, value = issue.text, None
    if id_ in _PASSWORD_IDS:
        quoted = _PASSWORD_TEXT.match(issue.text)
        value = quoted[1] if quoted else None
        message = f"Possible hardcoded password ({MASK})"
    return Seen(_label(issue, id_, name), Hit(span=span, message=message, quoted_value=value))


def _label(issue: Any, id_: str, name: str) -> Label:  # noqa: ANN401
    severity = {"HIGH": Severity.HIGH, "MEDIUM": Severity.MEDIUM, "LOW": Severity.LOW}.get(issue.severity)
    confidence = {"HIGH": Confidence.HIGH, "MEDIUM": Confidence.MEDIUM}.get(issue.confidence, Confidence.LOW)
    return Label(id_, name, severity or Severity.INFO, confidence, issue.cwe.id or None)


def _span(tree: Tree, node: ast.AST, line: int | None) -> Span:
    source = tree.source
    if not isinstance(node, (ast.expr, ast.stmt, ast.excepthandler, ast.keyword, ast.arg, ast.alias)):
        return Span(line or 1, 1, line or 1, 1)
    whole = tree.span(node)
    if line is not None and line != whole.line and 1 <= line <= len(source.lines):
        text = source.lines[line - 1]
        return Span(line, len(text) - len(text.lstrip()) + 1, line, len(text.rstrip()) + 1)
    if isinstance(node, (ast.stmt, ast.excepthandler)) and getattr(node, "body", None):
        last = header_lines(node)[1]
        if last < whole.end_line:
            return Span(whole.line, whole.column, last, len(source.lines[last - 1].rstrip()) + 1)
    return whole


@cache
def _read_plugins() -> _Plugins:
    # When imported, Bandit replaces how the whole process prints warnings, and its plug-in loader warns.
    with no_warnings():
        manager = importlib.import_module("bandit.core.extension_loader").MANAGER
        blacklisting = importlib.import_module("bandit.core.blacklisting")
        context = importlib.import_module("bandit.core.context").Context
    tests: dict[str, list[_Test]] = {}
    for plugin in manager.plugins:
        check = plugin.plugin
        config: tuple[Any, ...] = ()
        takes = getattr(check, "_takes_config", None)
        if takes is not None:
            config = (importlib.import_module(check.__module__).gen_config(takes),)
        for kind in check._checks:  # noqa: SLF001 - where Bandit's decorators put it
            tests.setdefault(kind, []).append(_Test(check, plugin.name, check._test_id, config))  # noqa: SLF001
    for kind in manager.blacklist:
        tests.setdefault(kind, []).append(_Test(blacklisting.blacklist, "blacklist", "B001", (manager.blacklist,)))
    names = {id_: entry["name"] for id_, entry in manager.blacklist_by_id.items()}
    return _Plugins({kind: tuple(found) for kind, found in tests.items()}, context, names)


def _plugins() -> _Plugins:
    with _LOADING:
        return _read_plugins()
