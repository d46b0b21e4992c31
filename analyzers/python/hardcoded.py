"""Rules about secrets that Python's syntax shows: a telling name beside a literal value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from analyzers.credentials import holds_secret
from analyzers.model import Confidence, Severity, Span
from analyzers.patterns import lazy
from analyzers.placeholders import is_random
from analyzers.python.scopes import Scope
from analyzers.python.tree import Tree
from analyzers.rule import Hit, Rule
from analyzers.secrets import MASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_PARTS = 32
_TYPE = lazy(r"[A-Za-z_][\w.\[\], |]*")
_SHOWN_NAME = 60
# What a written value may look like in the tree.
_WRITTEN = frozenset({ast.Constant, ast.JoinedStr, ast.BinOp, ast.BoolOp, ast.Tuple, ast.List})
_LOOKUPS = frozenset({"get", "getenv", "setdefault", "pop", "setattr", "setenv", "putenv"})
_LOGINS = frozenset({"auth", "basic_auth", "http_auth"})
_AUTH = "auth"
_AUTH_CLASSES = frozenset({"HTTPBasicAuth", "HTTPDigestAuth", "HTTPProxyAuth", "BasicAuth"})
Pair = tuple[str, ast.expr, ast.expr | None, str]
"""A name, the value beside it, the node that names it (None: only the value is shown), and Bandit's id for the form."""


def hardcoded_secret(node: ast.AST, at: Scope) -> Iterator[Hit] | None:
    """A password, key or token is written into the program, under a name that says so.

    Everyone who can read the source can use it, and changing it means changing the program. Read it from the
    environment or a secret store: ``os.environ["DB_PASSWORD"]``.

    Assignments, attributes, keyword arguments, dict keys, defaults and comparisons are read. Names that hold what
    people choose (password, secret) count with any value; names that hold what machines issue (api_key, token) count
    when the value looks issued. Placeholders such as ``changeme`` or ``<token>``, addresses, paths, prompts and names
    of fields are not secrets.
    """
    # Nearly every node is none of this rule's business, and a generator costs more than finding that out.
    pairs = _PAIRS[node.__class__](node)
    return _hits(pairs, at) if pairs else None


def _hits(pairs: list[Pair], at: Scope) -> Iterator[Hit]:
    for name, value, naming, bandit in pairs:
        text = _literal(value)
        if text is None or not holds_secret(name, text):
            continue
        span = at.tree.span(value)
        if bandit == _AUTH:
            message = f"the password of auth stands in the source ({MASK})"
            yield Hit(span=span, message=message, also=(), secret=span)
        else:
            whole = span if naming is None else _joined(at.tree, naming, span)
            message = f"{_shown(name)} is set to a secret in the source ({MASK})"
            yield Hit(span=whole, message=message, also=(bandit,), secret=span)


def _joined(tree: Tree, naming: ast.expr | ast.keyword, span: Span) -> Span:
    """From the name to the value, where both stand on one line; else the value, whose line is the one to look at."""
    first = tree.span(naming)
    return Span(first.line, first.column, span.end_line, span.end_column) if first.line == span.line else span


def _shown(name: str) -> str:
    return name if len(name) <= _SHOWN_NAME else name[:_SHOWN_NAME] + "…"


def _in_assignment(node: ast.Assign) -> list[Pair]:
    value = node.value
    if value.__class__ not in _WRITTEN:
        return []
    return [pair for target in node.targets for pair in _assigned(target, value)]


def _in_annotated(node: ast.AnnAssign | ast.NamedExpr) -> list[Pair]:
    value = node.value or _setting(node)
    return [] if value is None or value.__class__ not in _WRITTEN else _assigned(node.target, value)


def _in_dict(node: ast.Dict) -> list[Pair]:
    return [
        (key.value, value, key, "B105")
        for key, value in zip(node.keys, node.values, strict=True)
        if value.__class__ in _WRITTEN and isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]


def _in_comparison(node: ast.Compare) -> list[Pair]:
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return []
    left, right = node.left, node.comparators[0]
    pairs: list[Pair] = []
    if right.__class__ in _WRITTEN and (name := _name(left)):
        pairs.append((name, right, left, "B105"))
    if left.__class__ in _WRITTEN and (name := _name(right)):
        pairs.append((name, left, None, "B105"))
    return pairs


def _assigned(target: ast.expr, value: ast.expr) -> list[Pair]:
    if isinstance(target, (ast.Tuple, ast.List)):
        if not isinstance(value, (ast.Tuple, ast.List)) or len(target.elts) != len(value.elts):
            return []
        parts = zip(target.elts, value.elts, strict=True)
        return [(name, item, None, "B105") for part, item in parts if (name := _name(part))]
    name = _name(target)
    return [(name, value, target, "B105")] if name else []


def _in_call(call: ast.Call) -> list[Pair]:
    """Keyword arguments, look-ups with a fallback, and logins: ``auth=("user", "password")``, ``BasicAuth(...)``."""
    pairs: list[Pair] = []
    for keyword in call.keywords:
        value = keyword.value
        if value.__class__ not in _WRITTEN or keyword.arg is None:
            continue
        if not isinstance(value, ast.Tuple):
            # A keyword is no expression, but it has a place like one.
            pairs.append((keyword.arg, value, keyword, "B106"))  # type: ignore[arg-type]
        elif keyword.arg in _LOGINS and len(value.elts) == 2:  # noqa: PLR2004 - a user and a password
            pairs.append(("password", value.elts[1], None, _AUTH))
    args = call.args
    if len(args) > 1 and args[-1].__class__ in _WRITTEN:
        word = _name(call.func)
        if word in _LOOKUPS and isinstance(key := _constant(args[-2]), str):
            pairs.append((key, args[-1], None, "B105"))
        elif word in _AUTH_CLASSES:
            pairs.append(("password", args[1], None, _AUTH))
    return pairs


def _in_defaults(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[Pair]:
    arguments = node.args
    if not (arguments.defaults or arguments.kw_defaults):
        return []
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return [
        (argument.arg, default, argument, "B107")  # type: ignore[misc]
        for argument, default in pairs
        if default is not None and default.__class__ in _WRITTEN
    ]


def _name(node: ast.expr) -> str:
    """Find the telling name of a target: its own, its attribute's, or its key's."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        key = _constant(node.slice)
        return key if isinstance(key, str) else ""
    return ""


def _setting(node: ast.AnnAssign | ast.NamedExpr) -> ast.expr | None:
    """Find the value of ``password: "hunter2!"``: a line of settings that happens to parse, and names no type."""
    if isinstance(node, ast.AnnAssign):
        match node.annotation:
            case ast.Constant(value=str(text)) if not _TYPE.fullmatch(text):
                return node.annotation
            case ast.Name(id=name) if is_random(name):
                return ast.copy_location(ast.Constant(name), node.annotation)
    return None


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _literal(node: ast.expr) -> str | None:
    """Text of a literal: a string, bytes, an f-string without fields, or a sum of those; None if not a literal."""
    parts: list[str] = []
    stack = [node]
    while stack and len(parts) < _MAX_PARTS:
        part = stack.pop()
        match part:
            case ast.Constant(value=str(text)):
                parts.append(text)
            case ast.Constant(value=bytes(raw)):
                parts.append(raw.decode("latin-1"))
            case ast.BinOp(op=ast.Add()):
                stack += (part.right, part.left)
            case ast.JoinedStr() if part.values and all(isinstance(value, ast.Constant) for value in part.values):
                stack += reversed(part.values)
            case ast.BoolOp(op=ast.Or()):
                # ``os.environ.get("KEY") or "literal"``
                stack.append(part.values[-1])
            case _:
                return None
    return "".join(parts) if parts and not stack else None


_PAIRS: dict[type[ast.AST], Callable[[Any], list[Pair]]] = {
    ast.Call: _in_call,
    ast.Assign: _in_assignment,
    ast.AnnAssign: _in_annotated,
    ast.NamedExpr: _in_annotated,
    ast.Dict: _in_dict,
    ast.Compare: _in_comparison,
    ast.FunctionDef: _in_defaults,
    ast.AsyncFunctionDef: _in_defaults,
    ast.Lambda: _in_defaults,
}
_KEY = "a9Zk3Qw7Lm2Xv8Tn4Rb6"

RULES: tuple[Rule, ...] = (
    Rule(
        id="FH201",
        name="hardcoded-secret",
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        cwe=798,
        check=hardcoded_secret,
        on=tuple(_PAIRS),
        also=("B105", "B106", "B107"),
        hits=(
            'password = "hunter2"\n',
            'PASSWORD = "correct-horse"\n',
            'db_password: str = "root"\n',
            'dbPassword = "Tr0ub4dor"\n',
            'self.passwd = "hunter2"\n',
            'config["password"] = "hunter2"\n',
            'config = {"password": "hunter2"}\n',
            'connect(password="hunter2")\n',
            'connect(user="me", passwd=b"hunter2")\n',
            'def connect(password="hunter2"):\n    pass\n',
            'def connect(*, password="hunter2"):\n    pass\n',
            'if password == "hunter2":\n    pass\n',
            'user, password = "me", "hunter2"\n',
            'SECRET_KEY = "supersecret"\n',
            'app.config["SECRET_KEY"] = "s3cr3t"\n',
            'client_secret = "8f14e45fceea167a"\n',
            f'API_KEY = "{_KEY}"\n',
            f'apiKey = "{_KEY}"\n',
            f'client = Client(api_key="{_KEY}")\n',
            f'headers = {{"X-API-Key": "{_KEY}"}}\n',
            f'auth_token = "{_KEY}"\n',
            f'aws_secret_access_key = "{_KEY}{_KEY}"\n',
            f'key = os.environ.get("API_KEY", "{_KEY}")\n',
            f'api_key = os.environ.get("KEY") or "{_KEY}"\n',
            f'api_key = "{_KEY[:8]}" + "{_KEY[8:]}"\n',
            f'api_key = f"{_KEY}"\n',
            'requests.get(url, auth=("me", "hunter2"))\n',
            'requests.get(url, auth=HTTPBasicAuth("me", "hunter2"))\n',
            'password = "P@$$w0rd"\n',
            'password: "P@$$w0rd"\n',
            f"api_key: {_KEY}\n",
        ),
        misses=(
            'password = ""\n',
            'password: "Secret1"\n',
            'token: "Token | None"\n',
            "token: Token2\n",
            "password = None\n",
            'password = "changeme"\n',
            'password = "<password>"\n',
            'password = "${DB_PASSWORD}"\n',
            'password = "{{ password }}"\n',
            'password = "********"\n',
            'api_key = "your-api-key"\n',
            'api_key = "YOUR_API_KEY_HERE"\n',
            'api_key = "xxxxxxxxxxxxxxxxxxxx"\n',
            'api_key = os.environ["API_KEY"]\n',
            'api_key = os.getenv("API_KEY")\n',
            'password = input("Password: ")\n',
            'password = getpass("Enter your password: ")\n',
            'password_field = "user_password"\n',
            'password_label = "Your password"\n',
            'password_prompt = "Enter it"\n',
            'token_url = "https://auth.internal/token"\n',
            'secret_path = "/run/secrets/db"\n',
            'password_file = "/run/db"\n',
            'eos_token = "</s>"\n',
            'pad_token = "[PAD]"\n',
            'next_token = "abc123def456"\n',
            'token = "NextToken"\n',
            'token = "+"\n',
            'key = "name"\n',
            'primary_key = "customer_id_42"\n',
            'fields = {"password": "password"}\n',
            'fields = {"token": "access_token"}\n',
            'secret = f"{prefix}-{suffix}"\n',
            'first_pass = "quick"\n',
            'max_tokens = "4096"\n',
            'monkey = "hunter2abc"\n',
            'message = "password = hunter2"\n',
            '# password = "hunter2"\n',
        ),
    ),
)
