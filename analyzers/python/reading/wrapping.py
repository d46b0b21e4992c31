"""What code is wrapped in when it comes from somewhere: fences, prompts, diffs, notebooks, an indentation not its own.

Each function gives the patches that take one kind of wrapping off, none if there is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from analyzers.patterns import lazy
from analyzers.python.reading.patches import Mended, Patch
from analyzers.python.tokens import code_only
from analyzers.quiet import no_warnings

_FENCE = lazy(r"[ \t>]*(?:```+|~~~+)[ \t]*([\w+#.-]*)")
_PYTHON_FENCES = frozenset({"", "python", "python3", "python2", "py", "py3", "ipython", "pycon", "ipython3"})
_PROMPT = lazy(r"([ \t]*)(>>>|\.\.\.)(?: |$)")
_CELL_PROMPT = lazy(r"[ \t]*(?:In ?\[[ \d]*\]:|\.{3,}:)[ ]?")
_CELL_RESULT = lazy(r"[ \t]*Out ?\[[ \d]*\]:")
_DIFF_HEAD = lazy(r"(?:diff --git |index [0-9a-f]{4}|--- |\+\+\+ |@@ |\\ No newline|new file mode|deleted file mode)")
_MAGIC = lazy(r"([ \t]*)(%%?[A-Za-z]\w*|!{1,2}|\?{1,2}(?=[\w.]))(.*)$")
_MAGIC_VALUE = lazy(r"([ \t]*[\w., ]+=[ \t]*)([!%])(.*)$")
_HELP = lazy(r"([ \t]*)[\w.]+\?{1,2}[ \t]*$")
_RUNS_PYTHON = frozenset({"%time", "%timeit", "%prun", "%memit", "%lprun", "%%time", "%%timeit", "%%prun", "%%capture"})
_CELL_OF_PYTHON = frozenset({"%%time", "%%timeit", "%%prun", "%%capture", "%%python", "%%python3", "%%memit"})
_SMART = {
    "\u00a0": " ", "\u2007": " ", "\u202f": " ", "\u3000": " ", "\u200b": " ", "\ufeff": " ", "\x00": " ",
    "\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2028": " ", "\u2029": " ", "\x1a": " ",
}  # fmt: skip
_ODD = lazy(f"[{''.join(_SMART)}\ud800-\udfff]")
_MANY_LINES = 3
_MOST_STRETCHES = 200


def characters(mended: Mended) -> list[Patch]:
    """Spaces that are none, quotes of a word processor, and what cannot be encoded."""
    text = mended.text
    if text.isascii() and "\x00" not in text and "\x1a" not in text:
        return []
    return [Patch(match.start(), match.end(), _SMART.get(match[0], " ")) for match in _ODD.finditer(text)]


def fences(mended: Mended) -> list[Patch]:
    """Markdown around fenced blocks. A fence that was never closed reaches to the end."""
    if "```" not in mended.text and "~~~" not in mended.text:
        return []
    marks = [_FENCE.match(line) for line in mended.lines]
    first = next((number for number, mark in enumerate(marks) if mark), None)
    if first is None:
        return []
    label = marks[first]
    # A program in front of a fence without a word is a block whose beginning was cut off.
    is_open = not (label and label[1]) and _is_program(mended.lines[:first])
    state = "python" if is_open else ""
    kept = []
    for mark in marks:
        kept.append(mark is None and state == "python")
        if mark is not None:
            state = "" if state else "python" if mark[1].lower() in _PYTHON_FENCES else "other"
    return _blank(mended, kept) if any(kept) else []


def _is_program(lines: list[str]) -> bool:
    code = "\n".join(lines)
    if not code.strip():
        return False
    try:
        with no_warnings():
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _blank(mended: Mended, kept: list[bool]) -> list[Patch]:
    cuts = [0 if keep else None for keep in kept]
    _keep_programs(mended.lines, cuts)
    return [
        Patch(start, start + len(line), "")
        for start, line, cut in zip(mended.starts, mended.lines, cuts, strict=True)
        if line and cut is None
    ]


def _keep_programs(lines: list[str], cuts: list[int | None]) -> None:
    """Keep what would be blanked as prose or answers, but is a program that calls something.

    Where that is too often the question, everything is kept: the text then does not parse, and it is told so.
    """
    stretches: list[list[int]] = [[]]
    for number, cut in enumerate(cuts):
        if cut is None and not _FENCE.match(lines[number]):
            stretches[-1].append(number)
        elif stretches[-1]:
            stretches.append([])
    calling = [stretch for stretch in stretches if any("(" in lines[number] for number in stretch)]
    for asked, stretch in enumerate(calling):
        if asked >= _MOST_STRETCHES or _is_program([lines[number] for number in stretch]):
            for number in stretch:
                cuts[number] = 0


def prompts(mended: Mended) -> list[Patch]:
    """``>>>`` and ``...`` of the interpreter, ``In [1]:`` of IPython; what they answered is blanked."""
    text = mended.text
    if ">>>" in text:
        strip: Callable[[str], int | None] = _after_prompt
    elif "In [" in text or "In[" in text:
        strip = _after_cell_prompt
    else:
        return []
    cuts = [strip(line) for line in mended.lines]
    first = next((cut for cut, line in zip(cuts, mended.lines, strict=True) if line.strip()), None)
    if first is None and sum(cut is not None for cut in cuts) < _MANY_LINES:
        return []
    _keep_programs(mended.lines, cuts)
    patches = []
    for start, line, cut in zip(mended.starts, mended.lines, cuts, strict=True):
        if line:
            patches.append(Patch(start, start + (len(line) if cut is None else cut), ""))
    return patches


def _after_prompt(line: str) -> int | None:
    match = _PROMPT.match(line)
    return match.end() if match else None


def _after_cell_prompt(line: str) -> int | None:
    match = _CELL_PROMPT.match(line)
    return match.end() if match else None


def diff(mended: Mended) -> list[Patch]:
    """The marks of a unified diff: what was taken away is blanked, what was added or stayed is kept."""
    lines = mended.lines
    filled = [line for line in lines if line.strip()]
    headed = any(line.startswith(("@@ ", "diff --git ")) for line in filled)
    marked = sum(line.startswith(("+", "-")) for line in filled)
    if not headed and not (marked >= _MANY_LINES and all(line[0] in "+- \t" for line in filled)):
        return []
    patches = []
    for start, line in zip(mended.starts, lines, strict=True):
        if not line:
            continue
        if line[0] == "-" or _DIFF_HEAD.match(line):
            patches.append(Patch(start, start + len(line), ""))
        elif line[0] in "+ ":
            patches.append(Patch(start, start + 1, ""))
    return patches


def indentation(mended: Mended) -> list[Patch]:
    """An indentation that all lines share, as of a block taken out of a function."""
    filled = [line for line in mended.lines if line.strip() and not line.lstrip().startswith("#")]
    if not filled or not filled[0][0].isspace():
        return []
    shared = min(len(line) - len(line.lstrip(" \t")) for line in filled)
    if not shared:
        return []
    return [
        Patch(start, start + min(shared, len(line) - len(line.lstrip(" \t"))), "")
        for start, line in zip(mended.starts, mended.lines, strict=True)
        if line[:1].isspace()
    ]


def magics(mended: Mended) -> list[Patch]:
    """IPython's ``%`` and ``!`` lines: statements behind a magic are kept, shell lines become calls that say so."""
    if not any(mark in mended.text for mark in "%!?"):
        return []
    code = mended.code.split("\n")
    patches: list[Patch] = []
    lines = mended.lines
    for number, (start, line) in enumerate(zip(mended.starts, lines, strict=True)):
        if not line or not code[number].strip():
            continue
        cell = line.split(None, 1)[0] if line.startswith("%%") else ""
        if cell and cell not in _CELL_OF_PYTHON:
            return [*patches, *_blank_rest(mended, number)]
        patches += _magic(start, line, number and _ends_open(code[number - 1]))
    return patches


def foreign_cell(text: str) -> tuple[int, str] | None:
    """Give the number, from 1, of the first line that begins a cell in another language, and that language's word."""
    if "%%" not in text:
        return None
    for number, (line, code) in enumerate(zip(text.split("\n"), code_only(text).split("\n"), strict=False), 1):
        word, *rest = line.split() if line.startswith("%%") and code.strip() else ("",)
        if word and word not in _CELL_OF_PYTHON:
            return number, rest[0] if word == "%%script" and rest else word.removeprefix("%%")
    return None


def _ends_open(code: str) -> bool:
    """Whether a line of code goes on below, so that what stands there is an operator and no magic."""
    return code.rstrip().endswith(("(", ",", "\\", "+", "[", "{", "="))


def _blank_rest(mended: Mended, first: int) -> Iterator[Patch]:
    """A cell in another language."""
    for start, line in zip(mended.starts[first:], mended.lines[first:], strict=True):
        if line:
            yield Patch(start, start + len(line), "")


def _magic(start: int, line: str, goes_on: object) -> Iterator[Patch]:
    end = start + len(line)
    if match := _MAGIC.match(line):
        word, rest = match[2], match[3]
        if goes_on:
            return
        begin = start + match.start(2)
        if word in _RUNS_PYTHON:
            statement = rest.lstrip()
            yield Patch(begin, end - len(statement), "" if statement else "pass")
        elif word[0] == "!":
            yield Patch(begin, end, _system(rest))
        else:
            yield Patch(begin, end, "pass")
    elif match := _MAGIC_VALUE.match(line):
        yield Patch(start + match.start(2), end, _system(match[3]) if match[2] == "!" else "None")
    elif match := _HELP.match(line):
        yield Patch(start + match.end(1), end, "pass")


def _system(command: str) -> str:
    """What IPython makes of a shell line; ``{name}`` and ``$name`` put values of the program in."""
    text = command.strip()
    if "{" in text or "$" in text:
        names = re.findall(r"\{(\w+)\}|\$(\w+)", text)
        return (
            f"get_ipython().system({text!r} + {' + '.join(f'str({one or other})' for one, other in names) or repr('')})"
        )
    return f"get_ipython().system({text!r})"
