"""Rules about how exceptions are caught."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from analyzers.model import Confidence, Severity, Span
from analyzers.python.tree import Tree
from analyzers.rule import Hit, Rule

_HEADER = re.compile(r"except(?:[ \t\f]|\\\n)*:")


def bare_except(tree: Tree) -> Iterator[Hit]:
    """``except:`` catches everything, ``KeyboardInterrupt`` and ``SystemExit`` among it.

    A program that swallows them cannot be stopped and hides its own mistakes. Name what you can handle;
    ``except Exception:`` is the widest that is usually meant.
    """
    for handler in tree.all(ast.ExceptHandler):
        if handler.type is None:
            line, column = handler.lineno, tree.source.column(handler.lineno, handler.col_offset)
            start = tree.source.offset(line, column)
            header = _HEADER.match(tree.source.text, start)
            end = tree.source.place(header.end()) if header else (line, column + len("except"))
            yield Hit(
                span=Span(line, column, *end),
                message="a bare except catches everything, KeyboardInterrupt and SystemExit included",
            )


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH301",
        name="bare-except",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=396,
        check=bare_except,
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
