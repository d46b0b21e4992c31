"""Rules about text that becomes code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.fixed import is_fixed
from analyzers.python.interests import calls, handed, methods
from analyzers.python.names import hides_builtin, is_certain, origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument
from analyzers.rule import Hit, Rule

_DEFINITIONS = ("def ", "lambda ", "lambda:", "class ")
_MAX_PARTS = 50


def eval_used(node: ast.expr, at: Scope) -> Iterator[Hit]:
    """``eval`` runs whatever expression it is given.

    Whoever decides the text decides what the program does. For literals (numbers, strings, lists, dicts)
    ``ast.literal_eval`` reads the same text and runs nothing; for a choice among known actions use a dict of
    functions.

    The builtin is recognised through import, assignment, ``builtins.eval``, ``getattr(builtins, "eval")`` and when
    it is handed on as in ``map(eval, lines)``. A function or method of yours that is called ``eval`` is not it. Text
    that stands in the source itself is of low severity, and so is a call with a namespace that came from elsewhere, as
    debuggers and loaders do it.
    """
    return _uses(node, at, "eval")


def exec_used(node: ast.expr, at: Scope) -> Iterator[Hit]:
    """``exec`` runs whatever statements it is given.

    Whoever decides the text decides what the program does. There is no safe subset of it: call functions, import
    modules, or run the text in a sandbox.

    The builtin is recognised in the same ways as ``eval`` is by FH101.
    """
    return _uses(node, at, "exec")


def _uses(node: ast.expr, at: Scope, name: str) -> Iterator[Hit]:
    wanted = f"builtins.{name}"
    if not isinstance(node, ast.Call):
        message = f"{name} is handed to another function, which will run text as code"
        yield at.hit(node, message, severity=Severity.MEDIUM, confidence=Confidence.MEDIUM, also=())
        return
    function = node.func
    if wanted in origins(function, at):
        how = "" if isinstance(function, ast.Name) and function.id == name else " (through another name)"
        confidence = Confidence.HIGH if is_certain(function, at) else Confidence.MEDIUM
    elif isinstance(function, ast.Name) and function.id == name and not hides_builtin(function, at):
        how, confidence = " (if no other function of this name was put in its place)", Confidence.MEDIUM
    else:
        return
    severity, why = _gravity(node, at)
    message = f"{name} runs the text it is given as code{how}{why}"
    yield at.hit(node, message, confidence=confidence, severity=severity)


def _gravity(call: ast.Call, at: Scope) -> tuple[Severity | None, str]:
    """How grave a use is, by where its text and its namespace come from."""
    text = argument(call, 0)
    if text is not None and is_fixed(text, at):
        return Severity.LOW, "; the text is the program's own"
    if _is_generated(text, at):
        return Severity.MEDIUM, "; the program writes most of it"
    if len(call.args) > 1 and not _is_made_here(call.args[1], at):
        return Severity.LOW, "; its namespace says that this is meant"
    return None, ""


def _is_generated(text: ast.expr | None, at: Scope) -> bool:
    """Whether the text is a definition that the program itself writes, with some names put in."""
    parts = [text]
    for _ in range(_MAX_PARTS):
        if not parts:
            break
        part = parts.pop()
        match part:
            case ast.Constant(value=str(written)):
                if any(word in written for word in _DEFINITIONS):
                    return True
            case ast.JoinedStr():
                parts += part.values
            case ast.BinOp():
                parts += (part.left, part.right)
            case ast.Call(func=ast.Attribute(value=base, attr="format" | "join"), args=args):
                parts += (base, *args)
            case ast.Name():
                parts += [one.value for one in at.bindings(part.id)[:3] if isinstance(one.value, ast.expr)]
            case _:
                pass
    return False


def _is_made_here(namespace: ast.expr, at: Scope) -> bool:
    """Whether a namespace is a new dict, or that of this very place: nothing that somebody thought about before."""
    if isinstance(namespace, ast.Name):
        values = [one.value for one in at.bindings(namespace.id)]
        return bool(values) and all(isinstance(one, ast.expr) and _is_made_here(one, at) for one in values[:3])
    if isinstance(namespace, ast.Call):
        return not {"builtins.globals", "builtins.locals", "builtins.dict"}.isdisjoint(origins(namespace.func, at))
    if isinstance(namespace, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else key for key in namespace.keys]
        return None not in keys and "__name__" not in keys and "__file__" not in keys
    return isinstance(namespace, ast.Constant)


_MISSES = (
    "model.{0}()\n",
    "self.model.{0}(x)\n",
    "# {0}(x)\n",
    "text = '{0}(x)'\n",
    '"""{0}(x)"""\n',
    "def {0}(x):\n    return x\n{0}(1)\n",
    "class A:\n    def {0}(self):\n        return self.{0}()\n",
    "def f({0}):\n    return {0}(1)\n",
    "from mine import {0}\n{0}(1)\n",
    "import mine as builtins\nbuiltins.{0}(x)\n",
    "for {0} in handlers:\n    {0}(1)\n",
    "{0} = lambda text: text\n{0}(1)\n",
    "from numexpr import evaluate\nevaluate('a')\nexecute('b')\n",
)
_HITS = (
    "if 0:\n    def {0}(x): pass\n{0}(x)\n",
    "{0}(x)\ndef {0}(x): pass\n",
    "{0} = print\ndel {0}\n{0}(x)\n",
    "for {0} in ():\n    pass\n{0}(x)\n",
    "def f():\n    global {0}\n    {0} = print\n{0}(x)\n",
    "{0}(x)\n",
    "e = {0}\ne(x)\n",
    "from builtins import {0}\n{0}(x)\n",
    "from builtins import {0} as e\ne(x)\n",
    "import builtins\nbuiltins.{0}(x)\n",
    "import builtins as b\nb.{0}(x)\n",
    "__builtins__.{0}(x)\n",
    "__builtins__['{0}'](x)\n",
    "import builtins\ngetattr(builtins, '{0}')(x)\n",
    "__import__('builtins').{0}(x)\n",
    "import importlib\nimportlib.import_module('builtins').{0}(x)\n",
    "import builtins\nvars(builtins)['{0}'](x)\n",
    "globals()['__builtins__'].{0}(x)\n",
    "if (e := {0}):\n    e(x)\n",
    "a, b = {0}, print\na(x)\n",
    "def f(run={0}):\n    run(x)\n",
    "def f():\n    global e\n    e = {0}\ne(x)\n",
    "class A:\n    def {0}(self):\n        return {0}(self.x)\n",
    "def f(x):\n    {0} = g\n    return {0}(x)\n{0}(x)\n",
    "(a or {0})(x)\n",
    "values = map({0}, lines)\n",
    "y = f'{{{0}(x)}}'\n",
)


def _named(samples: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(sample.replace("{0}", name).replace("{{", "{").replace("}}", "}") for sample in samples)


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH101",
        name="eval-used",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=95,
        check=eval_used,
        on=(calls("builtins.eval"), methods("eval"), handed("builtins.eval")),
        also=("B307",),
        hits=_named(_HITS, "eval"),
        misses=(*_named(_MISSES, "eval"), "import ast\nast.literal_eval(x)\n", "df.eval('a + b')\n"),
    ),
    Rule(
        id="FH102",
        name="exec-used",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=95,
        check=exec_used,
        on=(calls("builtins.exec"), methods("exec"), handed("builtins.exec")),
        also=("B102",),
        hits=_named(_HITS, "exec"),
        misses=(*_named(_MISSES, "exec"), "cursor.exec('select 1')\n"),
    ),
)
