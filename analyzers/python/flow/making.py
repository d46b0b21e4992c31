"""Values as they come to be: sources, what nobody knows, texts that are put together."""

from __future__ import annotations

from analyzers.python.flow.values import UNSEEN, Taint, Value, all_taints, head_of, merged, through

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_NAMES = 4
_LONGEST_NAME = 120
_MOST_TEXT = 2000
_MOST_SPOTS = 6


def unseen(node: Any, names: tuple[str, ...] = ()) -> Value:  # noqa: ANN401 - any node that has a place
    """A value of which nothing is known but what it is called."""
    line = getattr(node, "lineno", 0)
    key = ("?", names[0]) if names else ("?", line, getattr(node, "col_offset", 0))
    return Value((Taint(key, "", line, UNSEEN),), names=names)


def source(text: str, level: int, node: Any, names: tuple[str, ...] = ()) -> Value:  # noqa: ANN401 - any node that has a place
    """What a source gives at a place."""
    return Value((Taint((text,), text, getattr(node, "lineno", 0), level),), names=names)


def below(names: tuple[str, ...], suffix: str) -> tuple[str, ...]:
    """Names one step further: an attribute, a call or an item."""
    return tuple(f"{name}{suffix}" for name in names[:_MOST_NAMES] if len(name) < _LONGEST_NAME)


def put_together(parts: list[Value], node: Any) -> Value:  # noqa: ANN401 - any node that has a place
    """A text made of several values."""
    made = Value(through(merged(all_taints(part) for part in parts), node.lineno))
    if parts and all(isinstance(part.const, (str, int)) for part in parts):
        text = "".join(str(part.const) for part in parts)
        if len(text) <= _MOST_TEXT:
            made.const = text
    head = ""
    for part in parts:
        head += head_of(part)
        if not isinstance(part.const, str):
            break
    made.head = head
    made.spots = tuple(
        dict.fromkeys([(node.lineno, node.col_offset), *(spot for part in parts for spot in part.spots)])
    )[:_MOST_SPOTS]
    return made
