"""Comments by which a script's author takes findings back, in the words of the common suppressor.

``# shellcheck disable=SC2086`` speaks for the command behind it with all that belongs to it, or for the whole script
where nothing but comments stands before it; ``# nosec`` for its line. Source: the ShellCheck wiki, Directive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.syntax.grammar import nodes

if TYPE_CHECKING:
    from analyzers.shell.script import Script

_DIRECTIVE = re.compile(r"#\s*shellcheck\s+(?:\S+\s+)*?disable=([\w,-]+)")
_RANGE = re.compile(r"SC(\d+)-SC(\d+)")
_MAX_RANGE = 2000
_MAX_LINES = 100_000


def markers(script: Script) -> Iterator[tuple[int, str]]:
    """Every comment that takes something back, with the place of each line that it speaks for."""
    found = [(node, script.text(node)) for node in script.comments]
    ends = _ends(script) if any(_DIRECTIVE.search(text) for _, text in found) else {}
    first = min((node.start_point[0] + 1 for node in script.root.named_children if node.type != "comment"), default=0)
    lines = len(script.source.lines)
    for node, text in found:
        line = min(node.start_point[0] + 1, lines)
        disabled = _DIRECTIVE.search(text)
        if disabled is None:
            yield script.source.starts[line - 1], text
            continue
        marker = "# nosec " + " ".join(_codes(disabled[1]))
        last = (
            lines
            if line < first
            else next((ends[at] for at in range(line, min(line + 3, lines) + 1) if at in ends), line)
        )
        for at in range(line, min(last, line + _MAX_LINES, lines) + 1):
            yield script.source.starts[at - 1], marker


def _codes(listed: str) -> Iterator[str]:
    """The codes of a list, ranges written out; ``all`` is every one."""
    for part in listed.split(","):
        between = _RANGE.fullmatch(part)
        if part == "all":
            yield ""
        elif between is None:
            yield part
        else:
            least, most = int(between[1]), int(between[2])
            yield from (f"SC{number}" for number in range(least, min(most, least + _MAX_RANGE) + 1))


def _ends(script: Script) -> dict[int, int]:
    """The last line of the longest command that begins on a line."""
    ends: dict[int, int] = {}
    for node in nodes(script.root):
        if node.type not in {"program", "comment"}:
            first, last = node.start_point[0] + 1, node.end_point[0] + 1
            if last > ends.get(first, 0):
                ends[first] = last
    return ends
