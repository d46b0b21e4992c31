"""Whether following the flow of a text is worth what it costs: it has a source and a sink, or a finding to weigh."""

from __future__ import annotations

from analyzers.deadline import Deadline
from analyzers.looking import Look, crashed
from analyzers.model import Severity
from analyzers.python.tree import Tree

HINTS = (
    "request.", "(request", " request:", "input(", "argv", "stdin", "recv", "parse_args",
    "Handler", "click.", "typer.", "(event, context", ".tool", "urlopen", "get_argument", "message.content", "choices[",
    "FieldStorage", "streamlit", "FastAPI",
)  # fmt: skip
_FRAMEWORKS = ("flask", "django", "starlette", "APIRouter", "bottle", "sanic", "tornado")
"""One of these stands in every text that has a source which matters."""
_CLEARED = frozenset("FH101 FH102 FH110 FH111 FH113 FH114 FH120 FH121 FH122 FH130 FH131".split())
"""Rules whose findings a check in the text may clear."""
_CALMER = frozenset({Severity.LOW, Severity.INFO})


def refine(tree: Tree, found: Look, deadline: Deadline) -> None:
    """Follow the flow through a tree where that can tell something, and add what it tells."""
    text = tree.source.text
    lines = [
        seen.hit.span.line for seen in found.seen if seen.label.id in _CLEARED and seen.hit.severity not in _CALMER
    ]
    if not lines and not any(hint in text for hint in (*HINTS, *_FRAMEWORKS)):
        return
    from analyzers.python.flow.following import follow  # noqa: PLC0415 - most texts need none of it
    from analyzers.python.flow.telling import tell  # noqa: PLC0415 - most texts need none of it

    try:
        tell(tree, found, follow(tree, deadline, lines))
    except Exception as error:  # noqa: BLE001 - it meets hostile text; whatever it raises is told, not thrown
        found.notes.append(crashed("the flow of data", 1, type(error).__name__))
