"""Rules about how exceptions are caught."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity, Span
from analyzers.patterns import lazy
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.rule import Hit, Rule

_HEADER = lazy(r"except(?:[ \t\f]|\\\n)*:")


def bare_except(handler: ast.ExceptHandler, at: Scope) -> Iterator[Hit]:
    """``except:`` catches everything, ``KeyboardInterrupt`` and ``SystemExit`` among it.

    A program that swallows them cannot be stopped and hides its own mistakes. Name what you can handle;
    ``except Exception:`` is the widest that is usually meant.
    """
    if handler.type is None:
        source = at.tree.source
        line, column = handler.lineno, source.column(handler.lineno, handler.col_offset)
        header = _HEADER.match(source.text, source.offset(line, column))
        end = source.place(header.end()) if header else (line, column + len("except"))
        message = "a bare except catches everything, KeyboardInterrupt and SystemExit included"
        also = ("E722", *_SWALLOWS.get(_only(handler), ()))
        yield Hit(span=Span(line, column, *end), message=message, also=also)


_SWALLOWS: dict[type[ast.AST] | None, tuple[str, ...]] = {ast.Pass: ("B110",), ast.Continue: ("B112",)}
_BROAD = frozenset({"builtins.Exception", "builtins.BaseException"})


def _only(handler: ast.ExceptHandler) -> type[ast.AST] | None:
    return handler.body[0].__class__ if len(handler.body) == 1 else None


def _is_broad(handler: ast.ExceptHandler, at: Scope) -> bool:
    if handler.type is None:
        return False
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(not _BROAD.isdisjoint(origins(kind, at)) for kind in kinds)


def swallowed(handler: ast.ExceptHandler, at: Scope) -> Iterator[Hit]:
    """Every exception is caught, and nothing is done about it: no trace is left of what went wrong.

    Name the exceptions that may be passed over, or write the others to the log.
    """
    only = _only(handler)
    if only in _SWALLOWS and _is_broad(handler, at):
        yield _header(handler, at, "every exception is passed over without a trace", _SWALLOWS[only])


def _header(handler: ast.ExceptHandler, at: Scope, message: str, also: tuple[str, ...]) -> Hit:
    whole = at.tree.span(handler)
    end = at.tree.span(handler.type) if handler.type is not None else whole
    return Hit(span=Span(whole.line, whole.column, end.end_line, end.end_column), message=message, also=also)


def broad_except(handler: ast.ExceptHandler, at: Scope) -> Iterator[Hit]:
    """``except Exception:`` catches mistakes of the program along with what was expected.

    Name what can be handled here. Where everything has to be caught, raise again or write it to the log with its
    traceback: then this is no finding.
    """
    if not _is_broad(handler, at) or _only(handler) in _SWALLOWS:
        return
    for part in handler.body[:_MAX_STATEMENTS]:
        for node in ast.walk(part) if not isinstance(part, _COMPOUND) else (part, *part.body[:_MAX_STATEMENTS]):
            if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and _is_logged(node.value)):
                return
    yield _header(handler, at, "mistakes of the program are caught along with what was expected", ("BLE001",))


_MAX_STATEMENTS = 20
_COMPOUND = (ast.If, ast.With, ast.For, ast.While, ast.Try)


def _is_logged(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="exception") | ast.Name(id="exception")):
            return True
        case ast.Call(func=ast.Attribute(), keywords=keywords):
            return any(keyword.arg == "exc_info" for keyword in keywords)
        case _:
            return False


def asserted(node: ast.Assert, at: Scope) -> Iterator[Hit]:
    """``assert`` is left out when Python runs with ``-O``: what it guards is then unguarded.

    In tests it is right. To check what comes from outside raise an exception.
    """
    if "TYPE_CHECKING" in at.tree.source.text:
        around = at.tree.parents.get(node)
        if isinstance(around, ast.If) and "TYPE_CHECKING" in ast.dump(around.test):
            return
    yield at.hit(node, "is left out when Python runs with -O")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH301",
        name="bare-except",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=396,
        check=bare_except,
        on=(ast.ExceptHandler,),
        also=("E722",),
        hits=(
            "try:\n    x()\nexcept:\n    y()\n",
            "try:\n    x()\nexcept  :  # why\n    y()\n",
            "try:\n    x()\nexcept \\\n  :\n    y()\n",
            "try:\n    x()\nexcept ValueError:\n    y()\nexcept:\n    raise\n",
        ),
        misses=(
            "try:\n    x()\nexcept Exception:\n    y()\n",
            "try:\n    x()\nexcept BaseException:\n    raise\n",
            "try:\n    x()\nexcept (A, B) as e:\n    y(e)\n",
            "try:\n    x()\nfinally:\n    y()\n",
            "# except:\ntext = 'except:'\n",
        ),
    ),
    Rule(
        id="FH302",
        name="exception-swallowed",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=703,
        check=swallowed,
        on=(ast.ExceptHandler,),
        also=("B110", "B112"),
        hits=(
            "try:\n    x()\nexcept Exception:\n    pass\n",
            "for y in z:\n    try:\n        x()\n    except (Exception, ValueError):\n        continue\n",
        ),
        misses=(
            "try:\n    x()\nexcept ValueError:\n    pass\n",
            "try:\n    x()\nexcept Exception as e:\n    print(e)\n",
        ),
    ),
    Rule(
        id="FH303",
        name="broad-except",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=396,
        check=broad_except,
        on=(ast.ExceptHandler,),
        also=("BLE001",),
        hits=(
            "try:\n    x()\nexcept Exception as e:\n    print(e)\n",
            "try:\n    x()\nexcept BaseException:\n    y()\n",
        ),
        misses=(
            "try:\n    x()\nexcept Exception:\n    log.exception('no')\n",
            "try:\n    x()\nexcept Exception:\n    y()\n    raise\n",
            "try:\n    x()\nexcept (OSError, ValueError):\n    y()\n",
        ),
    ),
    Rule(
        id="FH304",
        name="assert-used",
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        cwe=703,
        check=asserted,
        on=(ast.Assert,),
        also=("B101",),
        hits=("assert x\n", "def f(x):\n    assert x > 1, 'no'\n"),
        misses=("x = 'assert y'\n", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    assert x\n"),
    ),
)
