"""Markdown: the fenced blocks of languages that are read, and the secrets of the prose between them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from analyzers import blocks
from analyzers.blocks import Block
from analyzers.deadline import Deadline
from analyzers.detect import detect
from analyzers.languages import languages
from analyzers.looking import Look
from analyzers.plain import comments
from analyzers.rule import Rule
from analyzers.secret_rules import named_secrets
from analyzers.source import Source, UndecodableError

RULES: tuple[Rule, ...] = ()
"""Those of the blocks' languages."""

_OPENING = re.compile(
    r"([ \t>]{0,40}(?:[-*+][ ]{1,4}|\d{1,3}[.)][ ]{1,4})?)(`{3,}|~{3,})[ \t]*(?:\{\.?)?([\w+#.-]{0,30})([^`]*)"
)
_LANGUAGES = {
    "python": "python", "py": "python", "python3": "python", "py3": "python", "ipython": "python", "ipython3": "python",
    "pycon": "python", "python-repl": "python", "bash": "bash", "sh": "bash", "shell": "bash", "zsh": "bash",
    "console": "bash", "shell-session": "bash", "shellsession": "bash", "terminal": "bash", "go": "go", "golang": "go",
}  # fmt: skip
_PROMPTED = frozenset({"console", "shell-session", "shellsession", "terminal", "bash", "sh", "shell"})
_PROMPT = re.compile(r"[ \t]*(?:\w{1,32}@[\w.-]{1,60}:\S{0,60})?[$%][ ]")


def look(source: Source, undecodable: UndecodableError | None, deadline: Deadline, *, engines: Collection[str]) -> Look:
    """See every block in its own language. A text without any is prose, and read in full."""
    del undecodable  # any bytes are some text
    found = Look(comments=comments)
    fenced = list(find_blocks(source))
    prose = _without(source, fenced)
    found.run("the names beside values", lambda: named_secrets(prose), deadline)
    blocks.add(found, source, fenced, deadline, engines=engines, judge=True)
    return found


def find_blocks(source: Source) -> Iterator[Block]:
    """Give the fenced blocks of languages that are read; one without a name is taken for what it looks like."""
    known = languages()
    lines, starts = source.lines, source.starts
    at = 0
    while at < len(lines):
        opening = _OPENING.fullmatch(lines[at])
        at += 1
        if opening is None:
            continue
        closing = re.compile(rf"[ \t>]*{re.escape(opening[2][0])}{{{len(opening[2])},}}[ \t]*")
        first = at
        while at < len(lines) and not closing.fullmatch(lines[at]):
            at += 1
        block = _block(lines[first:at], starts[first:at], len(opening[1]), opening[3].lower())
        at += 1
        if block is not None and block.language in known:
            yield block


def _block(lines: list[str], starts: list[int], width: int, name: str) -> Block | None:
    parts, segments, length = [], [], 0
    for line, start in zip(lines, starts, strict=True):
        # As much as stands before the fence stands before each line of it: an indentation, or the marks of a quote.
        cut = min(width, len(line) - len(line.lstrip(" \t>")))
        parts.append(line[cut:])
        segments.append((length, start + cut))
        length += len(line) - cut + 1
    text = "\n".join(parts)
    language = _LANGUAGES.get(name, "") if name else detect(text)
    if not parts or language not in {"python", "bash", "go"}:
        return None
    block = Block(text + "\n", language, tuple(segments))
    return _without_prompts(block) if name in _PROMPTED else block


def _without_prompts(block: Block) -> Block:
    """Take a session for its commands: where lines begin with a prompt, the others are what was answered."""
    lines = block.text.split("\n")
    if not any(map(_PROMPT.match, lines)):
        return block
    parts, segments, length, goes_on = [], [], 0, False
    for line, (_, start) in zip(lines, block.segments, strict=False):
        prompt = _PROMPT.match(line)
        if prompt or goes_on:
            cut = prompt.end() if prompt else 0
            parts.append(line[cut:])
            segments.append((length, start + cut))
            length += len(line) - cut + 1
        goes_on = bool(prompt or goes_on) and line.endswith("\\")
    return block._replace(text="\n".join(parts) + "\n", segments=tuple(segments))


def _without(source: Source, fenced: list[Block]) -> Source:
    """Give the text with the blocks blanked out, every other character in its place."""
    characters = list(source.text) if fenced else []
    for block in fenced:
        first, last = block.segments[0][1], block.segments[-1][1]
        end = source.text.find("\n", last)
        for at in range(first, end if end >= 0 else len(characters)):
            if characters[at] != "\n":
                characters[at] = " "
    return Source("".join(characters)) if fenced else source
