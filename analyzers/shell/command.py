"""One command of a shell script: its words, and what it is behind ``sudo``, ``env`` and their like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from analyzers.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from analyzers.shell.script import Script

_WRAPPERS = frozenset(
    {"sudo", "doas", "env", "nohup", "time", "command", "builtin", "exec", "nice", "ionice", "setsid", "stdbuf"}
    | {"timeout", "chronic", "unbuffer", "busybox"}
)
_WITH_VALUE = {
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "--user", "--group"}),
    "doas": frozenset({"-u", "-C"}),
    "env": frozenset({"-u", "-C", "-S"}),
    "nice": frozenset({"-n"}),
    "ionice": frozenset({"-c", "-n", "-p"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "exec": frozenset({"-a"}),
}
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_NO_WORDS = frozenset({"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect", "comment"})


class Command:
    """One simple command.

    Attributes:
        node: The command.
        words: Its words, its name first; assignments in front and redirections are not among them.
        pipe: The pipeline it is a part of, and its place in it; ``(None, 0)`` for none.
        checked: Whether something looks at how it ended: ``||``, ``&&``, ``if``, ``while``, ``!``.
    """

    __slots__ = ("_script", "_words", "checked", "node", "pipe")

    def __init__(self, script: Script, node: Node, pipe: tuple[Node | None, int], *, checked: bool) -> None:
        self._script = script
        self.node = node
        self.pipe = pipe
        self.checked = checked
        self._words: list[Word] | None = None

    @property
    def words(self) -> list[Word]:
        """The words, its name first."""
        if self._words is None:
            parts = [child for child in self.node.named_children if child.type not in _NO_WORDS]
            self._words = [self._script.word(part) for part in parts]
        return self._words

    @property
    def name(self) -> str:
        """What is run, without its folder; empty where an expansion decides it."""
        return self._base(0)

    def _base(self, index: int) -> str:
        words = self.words
        text = words[index].literal if index < len(words) else None
        return "" if text is None else text.rpartition("/")[2]

    def effective(self) -> list[Word]:
        """Return the words from the command on that ``sudo``, ``env`` and their like start."""
        at = 0
        words = self.words
        while at < len(words):
            base = self._base(at)
            asks = base == "command" and at + 1 < len(words) and words[at + 1].text in {"-v", "-V"}
            if base not in _WRAPPERS or asks:
                break
            at = self._past_options(at, base)
        return words[at:]

    def _past_options(self, at: int, wrapper: str) -> int:
        words = self.words
        takes = _WITH_VALUE.get(wrapper, frozenset())
        at += 1
        while at < len(words):
            text = words[at].literal
            if text is None:
                break
            if text in takes:
                at += 2
            elif (
                (text.startswith("-") and len(text) > 1)
                or (wrapper in {"env", "sudo"} and _ASSIGNED.match(text))
                or (wrapper == "timeout" and text[:1].isdigit())
            ):
                at += 1
            else:
                break
        return at
