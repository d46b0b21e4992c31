"""Whether a call is a sink, and what reaches it."""

from __future__ import annotations

import ast

from analyzers.named import NamedTuple
from analyzers.python.flow.sinks import FUNCTIONS, METHODS, PATHS, Sink
from analyzers.python.flow.sources import REQUESTS
from analyzers.python.flow.state import State
from analyzers.python.flow.values import UNSEEN, Taint, Value, all_taints, head_of
from analyzers.python.tree import Tree
from analyzers.python.values import UNKNOWN

TYPE_CHECKING = False

_SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "cmd", "cmd.exe", "powershell", "pwsh")
_SAFE_LOADERS = ("SafeLoader", "CSafeLoader", "BaseLoader")
_NO_PAGE = ("json", "plain", "csv", "octet", "image/png", "image/jpeg", "pdf", "zip", "javascript")
_LOGGERS = ("log", "logger", "logging", "_log", "_logger")
_AFTER_HOST = 3
_ANSWERS = ("do_", "get", "post", "put", "delete", "patch")


class Reached(NamedTuple):
    """A sink, and the source that reaches it. ``taint`` is None where nothing from outside does."""

    kind: str
    node: ast.AST
    taint: Taint | None
    spots: tuple[tuple[int, int], ...] = ()
    whole: bool = True
    """Whether the source is all of the value, not a part of a longer text."""


def sink_of(names: tuple[str, ...], word: str, tree: Tree, base: Value | None) -> Sink | None:
    """The sink that a call is, by the names of what is called or by its last word."""
    for name in names:
        known = FUNCTIONS.get(name)
        if known is not None:
            return known
    known = METHODS.get(word) if base is not None else None
    if known is None or base is None or (known.needs and not any(tree.imports(one) for one in known.needs)):
        return None
    match known.kind:
        case "pathlib":
            return known if any(name.startswith(PATHS) for name in base.names) else None
        case "etree":
            return known if any("etree" in name.lower() for name in base.names) else None
        case "page":
            is_page = any(name in {"<handler>", "<handler>.wfile"} for name in base.names)
            return known._replace(kind="html") if is_page else None
        case "upload":
            is_upload = any(name.partition(".")[0] and ".files" in name.lower() for name in base.names)
            return known._replace(kind="path") if is_upload else None
        case "logger":
            is_logger = any(name.rpartition(".")[2].removesuffix("()").lower() in _LOGGERS for name in base.names)
            return (
                known._replace(kind="log") if is_logger or any("getLogger()" in name for name in base.names) else None
            )
        case "sql":
            strange = any(name.startswith(("concurrent.", "builtins.", "re.", *REQUESTS)) for name in base.names)
            return None if strange else known
        case _:
            return known


def reach(
    sink: Sink, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], base: Value | None, state: State
) -> list[Reached]:
    """What reaches a sink through its arguments."""
    kind = sink.kind
    values = [arguments[place] for place in sink.places if place < len(arguments)]
    values += [keywords[word] for word in sink.words if word in keywords]
    match kind:
        case "pathlib":
            return _weigh("path", node, [base] if base is not None else [], state)
        case "process":
            return _process(node, values[:1], keywords, state)
        case "program":
            return _weigh("program", node, values, state)
        case "html":
            function = getattr(state.frame.node, "name", "do_")
            if node.func.__class__ is ast.Attribute and node.func.attr == "write" and not function.startswith(_ANSWERS):
                return []
            declared = [
                one.const for word, one in keywords.items() if word in {"mimetype", "content_type", "media_type"}
            ]
            if any(isinstance(one, str) and any(part in one for part in _NO_PAGE) for one in declared):
                return []
            if (
                any(name.endswith((".Response", "FileResponse")) for name in _called(node))
                and not declared
                and _is_api(state)
            ):
                return []
        case "pickle":
            if any(word in keywords and _is_safe(keywords[word]) for word in ("Loader", "weights_only")):
                return []
            if len(arguments) > 1 and _is_safe(arguments[1]):
                return []
        case "nosql":
            where = [value.items["$where"] for value in values if value.items is not None and "$where" in value.items]
            whole = [value for value in values if value.items is None]
            return _weigh("nosql", node, where or whole, state)
        case "sql":
            values = [value for value in values if value.items is None or value.const is not UNKNOWN]
        case "xpath" if any(name.endswith("etree.XPath") for name in _called(node)):
            pass
        case _:
            pass
    if kind == "etree":
        kind = "xpath"
    return _weigh(kind, node, values, state)


def _called(node: ast.Call) -> list[str]:
    function = node.func
    if isinstance(function, ast.Attribute):
        return [f".{function.attr}"]
    return [f".{function.id}"] if isinstance(function, ast.Name) else []


def _is_api(state: State) -> bool:
    tree = state.scope.tree
    return tree.imports("fastapi") or tree.imports("aiohttp")


def _is_safe(loader: Value) -> bool:
    return loader.const is True or any(name.endswith(_SAFE_LOADERS) for name in loader.names)


def _process(node: ast.Call, values: list[Value], keywords: dict[str, Value], state: State) -> list[Reached]:
    shell = keywords.get("shell")
    if shell is not None and (shell.const is UNKNOWN or shell.const):
        return _weigh("shell", node, values, state)
    command = values[0] if values else None
    if command is None:
        return []
    words = command.items or {}
    if command.items is None and command.rest is None:
        return _weigh("program", node, [command], state)
    first = words.get(0)
    if first is not None and isinstance(first.const, str):
        program = first.const.replace("\\", "/").rpartition("/")[2]
        option = words.get(1)
        if program in _SHELLS and option is not None and str(option.const) in {"-c", "/c", "/C", "-lc", "-Command"}:
            return _weigh("shell", node, [one for number, one in words.items() if number == _AFTER_HOST - 1], state)
        return []
    return _weigh("program", node, [first] if first is not None else [], state)


def _weigh(kind: str, node: ast.AST, values: list[Value], state: State) -> list[Reached]:
    """Tell of the worst source that reaches one of the values, or that none does."""
    worst: Taint | None = None
    of = None
    spots: list[tuple[int, int]] = []
    for value in values:
        spots += value.spots
        if is_held(kind, value):
            continue
        for taint in all_taints(value):
            if taint.harms(kind, state.cleared) and (worst is None or taint.level > worst.level):
                worst, of = taint, value
    whole = of is None or (not of.head and len(of.spots) == 0)
    return [Reached(kind, node, worst, tuple(spots), whole)]


def weigh(kind: str, node: ast.AST, value: Value, state: State) -> list[Reached]:
    """Tell what reaches a sink that is no call: what a view returns, what is put under a key."""
    return _weigh(kind, node, [value], state)


def is_held(kind: str, value: Value) -> bool:
    """Whether what the value begins with leaves no choice to what follows: the host of an address."""
    head = head_of(value)
    if kind not in {"ssrf", "redirect"} or not head:
        return False
    _, scheme, rest = head.partition("://")
    if scheme:
        return any(sign in rest for sign in "/?#")
    return kind == "redirect" and (len(head) > 1 or head in {"?", "#"}) and not head.startswith("//")


def is_open(reached: Reached) -> bool:
    """Whether anything may reach it, known or not."""
    return reached.taint is not None and reached.taint.level >= UNSEEN
