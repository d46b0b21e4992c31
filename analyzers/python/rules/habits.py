"""Rules about what code written from a prompt tends to hold: bodies left empty, and secrets that are printed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.patterns import lazy
from analyzers.python.interests import assigned, calls, keywords, methods
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.rule import Hit, Rule

_UNFINISHED = lazy(
    r"#\s*(?:\.{2,}|todo\b|fixme\b|xxx\b|implement|your (?:code|logic|implementation)|placeholder|rest of|"
    r"existing code|add (?:your|code|logic|implementation)|(?:code|logic|implementation) (?:here|goes)|stub\b|fill in)",
    re.IGNORECASE,
)
_ABSTRACT = frozenset({"abstractmethod", "overload", "abstractproperty"})
_SECRET_NAME = lazy(
    r"(?:^|_)(?:password|passwd|pwd|passphrase|secret|api_?key|private_key|access_token|auth_token)s?$", re.IGNORECASE
)
_LEVELS = "debug info warning error critical exception log"
_FILLED = """
    api_key API_KEY apikey APIKEY OPENAI_API_KEY ANTHROPIC_API_KEY secret SECRET secret_key SECRET_KEY password
    PASSWORD passwd token TOKEN access_token ACCESS_TOKEN auth_token AUTH_TOKEN client_secret CLIENT_SECRET db_password
    DB_PASSWORD aws_secret_access_key AWS_SECRET_ACCESS_KEY aws_access_key_id bot_token BOT_TOKEN private_key
"""
_FILLED_IN = frozenset(_FILLED.split())
_LONGEST = 120
_FILLER = lazy(
    r"^<[a-z][\w -]*>$|^(?:your|my|insert|enter|put|add|replace)[-_ ].*|[-_ ]here$|^change[-_]?(?:me|it|this)"
    r"|^replace[-_]?me|^placeholder$|^(?:sk-)?x{4,}$|^(?:sk-)?(?:your|dummy|fake)[-_]",
    re.IGNORECASE,
)
_SHOWN = lazy(r"^(?:len|bool|type|hash|mask|redact|hidden)")


def unfinished(node: ast.FunctionDef, at: Scope) -> Iterator[Hit]:
    """A function does nothing yet, and a comment says so.

    Whoever calls it believes that it worked. Write it, or raise ``NotImplementedError``.
    """
    body = node.body
    if (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        body = body[1:]
    if len(body) > 1 or any(_last_word(decorator) in _ABSTRACT for decorator in node.decorator_list):
        return
    if body and not _is_empty(body[0]):
        return
    lines = at.tree.source.lines[node.lineno - 1 : (node.end_lineno or node.lineno) + 1]
    if any(_UNFINISHED.search(line) for line in lines[:50]):
        yield at.hit(node, f"{node.name[:60]} does nothing yet")


def _is_empty(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Return(value=None | ast.Constant(value=None | True | False)):
            return True
        case _:
            return False


def _last_word(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def secret_shown(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A password, key or token is printed or written to the log, where it stays and others read it.

    Leave it out, or write only that it was there.
    """
    is_print = "builtins.print" in origins(call.func, at)
    if not is_print and not (isinstance(call.func, ast.Attribute) and _is_logger(call.func.value, at)):
        return
    for shown in call.args:
        name = next(_secrets_in(shown), None)
        if name is not None:
            where = "printed" if is_print else "written to the log"
            yield at.hit(call, f"{name[:60]} is {where}")
            return


def _is_logger(node: ast.expr, at: Scope) -> bool:
    names = origins(node, at)
    return any(name.startswith("logging") for name in names) or "log" in _last_word(node).lower()


def _secrets_in(node: ast.expr) -> Iterator[str]:
    parts: list[ast.AST] = [node]
    while parts:
        part = parts.pop()
        match part:
            case ast.Name() | ast.Attribute():
                if _SECRET_NAME.search(_last_word(part)):
                    yield _last_word(part)
            case ast.JoinedStr():
                parts += part.values
            case ast.FormattedValue():
                parts.append(part.value)
            case ast.BinOp():
                parts += (part.left, part.right)
            case ast.Tuple():
                parts += part.elts
            case ast.Call(func=ast.Attribute(attr="format"), args=args):
                parts += args
            case _:
                pass


def placeholder_secret(node: ast.Assign | ast.Call, at: Scope) -> Iterator[Hit]:
    """A key or password is a placeholder: ``"your-api-key-here"``, ``"changeme"``.

    Nothing has leaked, but the program does not work, or works with a password that everybody can guess. Read the
    value from the environment, and stop where it is not set.
    """
    if isinstance(node, ast.Assign):
        told = [(_last_word(target), node.value) for target in node.targets]
    else:
        told = [(one.arg or "", one.value) for one in node.keywords]
    for name, value in told:
        text = value.value if isinstance(value, ast.Constant) else None
        if name in _FILLED_IN and isinstance(text, str) and len(text) < _LONGEST and _FILLER.search(text):
            yield at.hit(value, f"{name[:40]} is a placeholder; read it from the environment")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH322",
        name="placeholder-secret",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=1392,
        check=placeholder_secret,
        on=(assigned(_FILLED), keywords(_FILLED)),
        hits=(
            "API_KEY = 'your-api-key-here'\n",
            "client = OpenAI(api_key='YOUR_API_KEY')\n",
            "SECRET_KEY = 'changeme'\n",
            "password = '<password>'\n",
        ),
        misses=(
            "import os\nAPI_KEY = os.environ['API_KEY']\n",
            "API_KEY = ''\n",
            "name = 'your-name-here'\n",
            "password = prompt('your password here')\n",
        ),
    ),
    Rule(
        id="FH320",
        name="unfinished-function",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=1164,
        check=unfinished,
        on=(ast.FunctionDef, ast.AsyncFunctionDef),
        hits=(
            "def f(x):\n    # TODO: implement\n    pass\n",
            'def f(x):\n    """Doc."""\n    ...  # your code here\n',
            "def check(token):\n    return True  # placeholder\n",
        ),
        misses=(
            "def f(x):\n    pass\n",
            "def f(x):\n    # TODO: faster\n    return x + 1\n",
            "from abc import abstractmethod\nclass A:\n    @abstractmethod\n    def f(self):\n        ...  # stub\n",
        ),
    ),
    Rule(
        id="FH321",
        name="secret-shown",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=532,
        check=secret_shown,
        on=(calls("builtins.print"), methods(_LEVELS)),
        hits=(
            "print(password)\n",
            "import logging\nlogging.info('key %s', api_key)\n",
            "logger.debug(f'login {user} {self.password}')\n",
        ),
        misses=(
            "print('password')\n",
            "print(len(password))\n",
            "logger.info('reset for %s', user)\n",
            "math.log(password)\n",
        ),
    ),
)
