"""Where what an expansion puts into a word comes from: the network, the caller, the environment, or a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from analyzers.shell.words import Expansion, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from analyzers.shell.script import Script

NETWORK, CALLER, ENVIRONMENT, COMMAND = 4, 3, 2, 1
"""How far away whoever decides it is."""
_DOWNLOADING = re.compile(
    rb"(?:^|[|;&(`]\s{0,20}|\bsudo\s{1,9})(?:[\w./-]{0,99}/)?(?:curl|wget|fetch|http|https|aria2c|lynx|nc|ncat)\s"
)
_HARMLESS = re.compile(
    rb"^[$(`\s]*(?:(?:command\s+)?(?:date|mktemp|pwd|id|nproc|uname|hostname|whoami|tput|wc|seq|dirname\s+.?\$(?:0|\{?BASH_SOURCE)|"
    rb"cd\s+.*pwd|readlink\s+-f\s+.?\$(?:0|\{?BASH_SOURCE)|basename\s+.?\$0|printf\s+'?%[dx]|git\s+rev-parse|stat|expr|bc)\b)"
)
_POSITIONAL = re.compile(r"[0-9]+|[@*]|OPTARG|REPLY|BASH_ARGV")
_MAX_DEPTH = 30
_MAX_SETTINGS = 200


class Origin(NamedTuple):
    """Who decides a text, and as what a reader knows that."""

    rank: int
    what: str


def origin(script: Script, expansion: Expansion, depth: int = 0) -> Origin | None:
    """Return where it comes from; None for a constant, a number, or what only this machine decides."""
    if expansion.number or depth > _MAX_DEPTH:
        return None
    if expansion.kind != "parameter":
        return _printed(script, expansion.node)
    name = expansion.name
    if name == "0" or name in {"HOME", "PWD", "BASH_SOURCE", "HOSTNAME", "FUNCNAME"}:
        return None
    if _POSITIONAL.fullmatch(name):
        return Origin(CALLER, f"${name}")
    if name not in script.assignments:
        return Origin(ENVIRONMENT, f"${name}") if name.isupper() or not name.islower() else Origin(CALLER, f"${name}")
    known = script.origins
    if name not in known:
        known[name] = None  # what a variable is made of cannot be itself
        known[name] = _of_variable(script, name, depth)
    return known[name]


def _of_variable(script: Script, name: str, depth: int) -> Origin | None:
    worst: Origin | None = None
    for item in script.assignments[name][:_MAX_SETTINGS]:
        if item.how == "read":
            found: Origin | None = Origin(CALLER, f"${name}, which is read")
        elif item.value is None:
            found = Origin(CALLER, f"${name}") if item.how == "loop" else None
        else:
            found = of_word(script, script.word(item.value), depth + 1)
        if found is not None and (worst is None or found.rank > worst.rank):
            worst = found
    return worst


def of_word(script: Script, given: Word, depth: int = 0) -> Origin | None:
    """Return where the parts of a word come from: of several, what comes from furthest away."""
    worst: Origin | None = None
    for expansion in given.expansions:
        found = origin(script, expansion, depth)
        if found is not None and (worst is None or found.rank > worst.rank):
            worst = found
    return worst


def _printed(script: Script, node: Node) -> Origin | None:
    text = script.raw(node)
    if _DOWNLOADING.search(text):
        return Origin(NETWORK, "what is downloaded")
    if _HARMLESS.match(text):
        return None
    return Origin(COMMAND, "what a command prints")


def downloads(text: bytes) -> bool:
    """Whether a command, or a pipeline, asks the network for something."""
    return _DOWNLOADING.search(text) is not None
