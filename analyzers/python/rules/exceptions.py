"""Rules about how exceptions are caught."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity, Span
from analyzers.python.scopes import Scope
from analyzers.rule import Hit, Rule

_HEADER = re.compile(r"except(?:[ \t\f]|\\\n)*:")


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
        yield Hit(span=Span(line, column, *end), message=message)


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
)
