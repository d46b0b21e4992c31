"""What a function is given by whoever calls it from outside: web frameworks, command lines, event sources, anybody."""

from __future__ import annotations

import ast

from analyzers.named import NamedTuple
from analyzers.python.flow.expressions import HANDLER
from analyzers.python.flow.making import source, unseen
from analyzers.python.flow.sources import HANDLER_BASES, PERHAPS_REQUEST, REQUEST
from analyzers.python.flow.values import ARGUMENT, CLEAN, PARAMETER, TYPED, WEB, Value
from analyzers.python.names import origins
from analyzers.python.scopes import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    Function = ast.FunctionDef | ast.AsyncFunctionDef

_ROUTES = frozenset("route get post put delete patch head options websocket api_route add_route".split())
_COMMANDS = frozenset("command argument option group callback".split())
_TOOLS = frozenset("tool function_tool kernel_function ai_function".split())
_SEMANTIC_NUMBERS = frozenset(
    (
        "int float bool complex Decimal UUID UUID4 date datetime "
        "time PositiveInt conint NonNegativeInt IPvAnyAddress Literal"
    ).split()
)
_OTHERS = frozenset(
    (
        "Request Response Session AsyncSession BackgroundTasks "
        "HTTPConnection HttpRequest HttpResponse WebSocket Context"
    ).split()
)
_REQUESTS = frozenset("request req Request HttpRequest HTTPConnection".split())
_VIEWS = frozenset("get post put delete patch head options dispatch".split())
_GIVEN = frozenset("Depends Security".split())
_CONVERTERS = ("int:", "float:", "uuid:", "any(")
_FRAMEWORKS = frozenset(
    "flask django fastapi starlette aiohttp tornado sanic falcon bottle pyramid cherrypy quart rest_framework azure "
    "webapp2 werkzeug litestar blacksheep".split()
)
_PLAIN = ("int", "float", "uuid")


class Entry(NamedTuple):
    """How a function is entered from outside."""

    level: int
    page: bool = False
    """Whether what it returns is shown as HTML."""
    said: str = ""
    """The paths in its decorators, which say what its parameters are."""


def entry_of(function: Function, scope: Scope, owner: ast.ClassDef | None) -> Entry:
    """How a function is entered: by a web framework, a command line, a model, or by anybody who calls it."""
    tree = scope.tree
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        word = _last(decorator)
        if word in _ROUTES and (call is None or not call.args or isinstance(call.args[0], ast.Constant)):
            is_api = tree.imports("fastapi") or tree.imports("starlette") or tree.imports("litestar")
            said = (
                str(call.args[0].value)
                if call is not None and call.args and isinstance(call.args[0], ast.Constant)
                else ""
            )
            page = not is_api or (call is not None and any(_last(one.value) == "HTMLResponse" for one in call.keywords))
            return Entry(WEB, page and word != "websocket", said)
        if word in _COMMANDS and (tree.imports("click") or tree.imports("typer") or word != "group"):
            return Entry(ARGUMENT)
        if word in _TOOLS:
            return Entry(TYPED)
        if word in {
            "api_view",
            "csrf_exempt",
            "login_required",
            "require_POST",
            "require_http_methods",
            "expose",
            "view_config",
        }:
            return Entry(WEB)
    parameters = [
        one.arg for one in (*function.args.posonlyargs, *function.args.args) if one.arg not in {"self", "cls"}
    ]
    if parameters[:2] == ["event", "context"]:
        return Entry(WEB)
    if parameters[:1] == ["request"] and (owner is None or function.name in _VIEWS) and has_framework(scope):
        return Entry(WEB)
    return Entry(PARAMETER)


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def parameter(one: ast.arg, function: Function, scope: Scope, inner: Scope, entry: Entry) -> Value:
    """What a parameter holds when the function is entered from outside."""
    kind = _annotation(one.annotation)
    names = origins(ast.copy_location(ast.Name(one.arg, ast.Load()), one), inner)
    if kind in _REQUESTS or (one.arg in _REQUESTS and (entry.level == WEB or has_framework(scope))):
        return Value(names=(REQUEST, *names))
    if one.arg == "request":
        return Value(unseen(one, ("request",)).taints, names=(PERHAPS_REQUEST, *names))
    if kind in _SEMANTIC_NUMBERS:
        return CLEAN
    if entry.level == PARAMETER:
        made = source(f"parameter {one.arg[:30]}", PARAMETER, one, names)
        taint = made.taints[0]
        made.taints = (taint._replace(key=(one.arg, one.lineno)),)
        return made
    if kind in _OTHERS or _last(inner.default(one) or one) in _GIVEN:  # type: ignore[arg-type]
        return unseen(one, names or (one.arg,))
    if _is_number(one.arg, function, entry):
        return CLEAN
    label = {ARGUMENT: f"argument {one.arg}", TYPED: f"argument {one.arg} of a model"}.get(entry.level, one.arg)
    made = source(label[:40], entry.level, one, names)
    made.taints = (made.taints[0]._replace(key=(one.arg, one.lineno)),)
    if kind and kind not in {"str", "bytes", "dict", "list", "Any", "Optional", "Annotated"}:
        made.names = ("<model>",)
    return made


def _annotation(node: ast.expr | None) -> str:
    """The word that says what a parameter is; of ``Annotated[int, …]`` and ``Optional[int]`` the one inside."""
    for _ in range(3):
        if isinstance(node, ast.Subscript) and _last(node.value) in {"Annotated", "Optional"}:
            node = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        elif isinstance(node, ast.BinOp):
            node = node.left
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value.rpartition(".")[2]
    return _last(node) if node is not None else ""


def _is_number(name: str, function: Function, entry: Entry) -> bool:
    """Whether the framework itself makes a number, or one of a list, of what comes for this parameter."""
    for converter in _CONVERTERS:
        if f"<{converter}{name}>" in entry.said or (converter == "any(" and f"):{name}>" in entry.said):
            return True
    if f"{{{name}:int}}" in entry.said or f"{{{name}:uuid}}" in entry.said:
        return True
    if entry.level != ARGUMENT:
        return False
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and any(
            isinstance(one, ast.Constant) and str(one.value).lstrip("-").replace("-", "_").lower() == name
            for one in decorator.args
        ):
            for one in decorator.keywords:
                if one.arg == "is_flag" or (
                    one.arg == "type" and _last(one.value).lower() in {*_PLAIN, "choice", "intrange", "bool"}
                ):
                    return True
    return False


def has_framework(scope: Scope) -> bool:
    """Whether the text imports something that answers web requests."""
    return any(name.partition(".")[0] in _FRAMEWORKS for name in scope.tree.modules)


def is_handler(class_: ast.ClassDef | None, scope: Scope) -> bool:
    """Whether a class answers web requests, so that its objects hold them."""
    if class_ is None:
        return False
    for base in class_.bases:
        if any(
            name.endswith((*HANDLER_BASES, "RequestHandler", "WebSocketHandler"))
            for name in (*origins(base, scope), _last(base))
        ):
            return True
    return False


def handler() -> Value:
    """An object that answers a web request."""
    return Value(names=(HANDLER,))
