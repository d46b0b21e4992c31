from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers import analyze
from analyzers.capabilities import Wanted
from analyzers.fix import apply
from analyzers.looking import Look
from analyzers.markdown import find_blocks
from analyzers.model import Confidence, Parse, Severity
from analyzers.notebook import _blocks, _cells
from analyzers.plain import comments
from analyzers.python.embedded import embedded
from analyzers.python.look import _table
from analyzers.python.tree import Tree, parse
from analyzers.python.wants import INTERESTS
from analyzers.rule import Hit, Label, Seen
from analyzers.source import Source

UNHURRIED = settings(deadline=None)
# The package offers a function of the same name.
registry = importlib.import_module("analyzers.languages")
SNIPPETS = st.sampled_from(
    ["eval(x)", "é = eval(x)", "try:\n    a()\nexcept:\n    b()", "import pickle", "x = 1", "x = '''\n```\n'''", "if ("]
)
QUOTES = st.sampled_from(["", "  ", "> ", "   ", "\t", "> > "])


def places(code: str, language: str) -> list[tuple[str, int, int, str]]:
    """Give every finding with its place and the code that stands there."""
    report = analyze(code, language)
    lines = code.split("\n")
    found = []
    for one in report.findings:
        line, column, end_line, end_column = one.span
        end = end_column if end_line == line else len(lines[line - 1]) + 1
        found.append((one.rule, line, column, lines[line - 1][column - 1 : end - 1]))
    return found


def test_fences_are_looked_at_in_their_places() -> None:
    """Indented in a list, quoted, of any length, named or not; what is no program of ours is prose."""
    code = (
        "Text with eval(no).\n\n1. do\n   ~~~~python\n   x = eval(a)\n   ~~~~\n\n> ```py\n> é = eval(b)\n> ```\n\n"
        "```\nimport os\neval(c)\n```\n\n```html\n<a>eval(d)</a>\n```\n\n````py\ns = '''\n```\n'''\neval(e)\n````\n"
    )
    found = [one for one in places(code, "markdown") if one[0] == "FH101"]
    assert found == [
        ("FH101", 5, 8, "eval(a)"), ("FH101", 9, 7, "eval(b)"), ("FH101", 14, 1, "eval(c)"),
        ("FH101", 25, 1, "eval(e)"),
    ]  # fmt: skip


def test_secrets_of_prose_are_found_too() -> None:
    """By shape and by name, in blocks of other languages as well, and each once."""
    token = "gh" + "p_" + "a1B2" * 9
    code = f'Use `{token}`.\n\n```json\n{{"password": "hunter2!"}}\n```\n\n```py\npassword = "hunter3!"\n```\n'
    assert [(rule, line) for rule, line, _, _ in places(code, "markdown")] == [
        ("FH202", 1), ("FH201", 4), ("FH201", 8),
    ]  # fmt: skip
    assert all(value not in repr(analyze(code, "markdown")) for value in (token, "hunter2!", "hunter3!"))


def test_an_unfinished_fence_goes_to_the_end() -> None:
    """A model's answer is often cut off."""
    assert places("Here:\n```python\neval(x)\n", "markdown") == [("FH101", 3, 1, "eval(x)")]


def test_a_broken_block_costs_itself() -> None:
    """Its lines are said not to be understood, the others are, and the report is not called clean."""
    report = analyze("```py\nx = (((\n```\n\n```py\neval(y)\n```\n", "markdown")
    assert "FH101" in [finding.rule for finding in report.findings]
    assert report.parse != "full"
    assert report.parse_error is not None
    assert report.parse_error.line == 2
    assert all(first == last == 2 or (first, last) == (2, 3) for first, last in report.unparsed)
    assert analyze("```py\nx = (((\n```\n", "markdown").verdict == "incomplete"
    assert analyze("just prose\n", "markdown").verdict == "pass"


def test_comments_of_a_block_take_findings_back() -> None:
    """On the line they stand on, by every name that the block's language knows."""
    report = analyze("```py\neval(x)  # nosec eval-used\neval(y)\n```\n", "markdown")
    assert [finding.span.line for finding in report.findings] == [3]
    assert report.suppressed == 1


def test_fixes_are_in_the_places_of_the_whole() -> None:
    """Applied to the text that was sent they mend the block, its indentation and quotes kept."""
    code = "> ```py\n> try:\n>     a()\n> except:\n>     raise_it()\n> ```\n"
    report = analyze(code, "markdown", fixes=True)
    (finding,) = (one for one in report.findings if one.rule == "FH301")
    assert finding.fix is not None
    (edit,) = finding.fix.edits
    line = code.split("\n")[edit.span.line - 1]
    assert line[: edit.span.column - 1] + edit.text + line[edit.span.end_column - 1 :] == "> except Exception:"


def test_sessions_are_taken_for_their_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where prompts show what was typed, the answers are left out, and places stay."""
    text = "```console\n$ curl x | sh\nok $ done\nuser@host:~$ ls \\\n  -la\n```\n"
    monkeypatch.setattr("analyzers.markdown.languages", lambda: ("bash",))
    found = list(find_blocks(Source(text)))
    assert [block.text for block in found] == ["curl x | sh\nls \\\n  -la\n"]
    (block,) = found
    assert [text[start] for _, start in block.segments] == ["c", "l", " "]


@UNHURRIED
@given(st.lists(st.tuples(SNIPPETS, QUOTES, st.sampled_from(["py", "python", "", "js"])), max_size=5))
def test_every_character_of_a_block_comes_from_its_place(parts: list[tuple[str, str, str]]) -> None:
    """Whatever stands before its lines, each character of a block is the one its segments point to."""
    text = ""
    for snippet, quote, name in parts:
        body = "\n".join(quote + line for line in [f"````{name}", *snippet.split("\n"), "````"])
        text += f"words\n\n{body}\n\n"
    for block in find_blocks(Source(text)):
        for number, (start, origin) in enumerate(block.segments):
            end = block.segments[number + 1][0] if number + 1 < len(block.segments) else len(block.text) - 1
            stretch = block.text[start : end - 1] if number + 1 < len(block.segments) else block.text[start:end]
            assert text[origin : origin + len(stretch)] == stretch
    analyze(text, "markdown", fixes=True)


def notebook(*cells: str | list[str], indent: int | None = 1) -> str:
    """Give a notebook with code cells of these sources."""
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    made.insert(0, {"cell_type": "markdown", "metadata": {}, "source": ["eval(prose)"]})
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=indent)


def test_cells_are_one_program() -> None:
    """A name that one cell imports is known in the next; places are those of the JSON."""
    code = notebook(["import pickle as p\n", "x = 1\n"], "y = p.loads(x)\n", indent=None)
    found = {rule: (line, text) for rule, line, _, text in places(code, "notebook")}
    assert found["FH150"] == (1, "p.loads(x)")
    assert code.count("\n") == 0


def test_escapes_keep_the_places() -> None:
    """Quotes, newlines, and characters written as two escapes."""
    code = notebook(['s = "é\t\U0001f600"; y = eval(z)\n', "try:\n    a()\nexcept:\n    b()\n"])
    found = places(code, "notebook")
    assert {"eval(z)", "except:"} <= {text for _, _, _, text in found}


def test_prose_and_outputs_are_not_code() -> None:
    """But a token in them is a token."""
    token = "gh" + "p_" + "a1B2" * 9
    data = json.loads(notebook("x = 1\n"))
    data["cells"][1]["outputs"] = [{"output_type": "stream", "text": ["eval(q)\n", token]}]
    assert [rule for rule, *_ in places(json.dumps(data), "notebook")] == ["FH202"]


def test_what_ipython_takes_for_itself_is_not_python() -> None:
    """Magics, shell lines and questions do not break the program around them, nor move it."""
    code = notebook(["%matplotlib inline\n", "!ls -la\n", "x?\n", "if x:\n", "    !rm a\n", "eval(y)\n"])
    report = analyze(code, "notebook")
    assert (report.parse, [finding.rule for finding in report.findings]) == ("full", ["FH101"])
    html = notebook("%%html\n<a>eval(x)</a>\n", "%%time\neval(z)\n")
    assert [text for *_, text in places(html, "notebook")] == ["eval(z)"]


def test_shell_lines_are_programs_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in its place."""
    monkeypatch.setattr("analyzers.notebook.languages", lambda: ("bash",))
    code = notebook(["if x:\n", "    !curl x | sh\n"], "%%bash\nrm -rf $X\n")
    found = [block for block in _blocks(list(_cells(code))) if block.language == "bash"]
    assert [block.text.strip() for block in found] == ["curl x | sh", "rm -rf $X"]
    assert code[found[0].segments[0][1] :].startswith("curl x | sh")


def test_fixes_of_cells_are_written_as_json() -> None:
    """The edited notebook is one, and its cell is mended."""
    code = notebook(["try:\n", "    a()\n", "except:\n", '    b("q")\n'])
    report = analyze(code, "notebook", fixes=True)
    (finding,) = (one for one in report.findings if one.rule == "FH301")
    assert finding.fix is not None
    (edit,) = finding.fix.edits
    lines = code.split("\n")
    line = lines[edit.span.line - 1]
    lines[edit.span.line - 1] = line[: edit.span.column - 1] + edit.text + line[edit.span.end_column - 1 :]
    assert json.loads("\n".join(lines))["cells"][1]["source"][2] == "except Exception:\n"


def test_old_notebooks_are_read() -> None:
    """Version 3 has worksheets, and calls code its input."""
    cell = {"cell_type": "code", "input": ["eval(x)\n"], "language": "python", "outputs": []}
    code = json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]})
    assert [rule for rule, *_ in places(code, "notebook")] == ["FH101"]


@pytest.mark.parametrize(
    "text", ["", "x", "{", '{"cells"', '{"cells": [}', "[1]", '{"a": tru}', "[" * 100_000, '{"a": "b']
)
def test_what_is_no_notebook_is_incomplete(text: str) -> None:
    """The place where reading ended is told, and nothing raises."""
    report = analyze(text, "notebook")
    assert (report.verdict, report.parse) == ("incomplete", "text")


@UNHURRIED
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)
    )
)
def test_any_json_object_is_read(value: object) -> None:
    """Whatever stands around the cells."""
    code = json.dumps({"extra": value, "cells": [{"cell_type": "code", "source": "eval(x)"}]})
    assert [rule for rule, *_ in places(code, "notebook")] == ["FH101"]


def blocks_of(code: str) -> list[tuple[str, str]]:
    """Give the shell programs that a Python source holds, and what stands where they are said to be."""
    source = Source(code)
    module = parse(source, code)
    assert isinstance(module, ast.Module)
    tree = Tree(source, module, _table().watched)
    for rule in INTERESTS:
        if rule.name == "proc.spawn":
            for call, scope in tree.by_kind[ast.Call]:
                rule.check(call, scope)
    found = []
    for block in embedded(tree):
        start, end = block.whole or (block.segments[0][1], block.segments[0][1] + len(block.text))
        found.append((block.text, code[start:end]))
    return found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os\nos.system('curl x | sh')\n", [("curl x | sh", "curl x | sh")]),
        ('import os\nos.popen(r"ls $X")\n', [("ls $X", "ls $X")]),
        ('import os\nos.system("""\nls\nrm a\n""")\n', [("\nls\nrm a\n", "\nls\nrm a\n")]),
        ("import os\nos.system('a\\nb')\n", [("a\nb", "'a\\nb'")]),
        ("import os\nc = 'rm -rf $X'\nos.system(c)\n", [("rm -rf $X", "c")]),
        ("import subprocess as s\ns.run('ls | wc', shell=True)\n", [("ls | wc", "ls | wc")]),
        ("import subprocess as s\ns.run('ls | wc')\n", []),
        ("import subprocess as s\ns.check_output(['bash', '-c', 'ls | wc'])\n", [("ls | wc", "ls | wc")]),
        ("import subprocess as s\ns.Popen(args=['/bin/sh', '-ec', 'ls'])\n", [("ls", "ls")]),
        ("import subprocess as s\ns.run(['ls', '-c', 'x y'])\n", []),
        ("import os\nos.system(command)\n", []),
        ("import os\nos.system('')\n", []),
    ],
)
def test_shell_programs_in_python(code: str, found: list[tuple[str, str]]) -> None:
    """Constant texts that a shell is given, in their place; where escapes or names are between, at the argument."""
    assert blocks_of(code) == found


def test_applying_is_still_possible() -> None:
    """A fix of plain Python is what it was."""
    code = "try:\n    a()\nexcept:\n    b()\n"
    (finding,) = (one for one in analyze(code, fixes=True).findings if one.rule == "FH301")
    assert finding.fix is not None
    assert "except Exception:" in apply(code, [finding.fix])


class Shell:
    """A reader of shell programs that reports every ``curl``, and notes what it cannot read."""

    RULES = ()

    @staticmethod
    def look(source: Source, undecodable: object, deadline: object, *, engines: object) -> Look:
        """See the word, as any reader would."""
        del undecodable, deadline, engines
        found = Look(comments=comments)
        label = Label("FH999", "curl-used", Severity.HIGH, Confidence.HIGH, 78)
        for match in re.finditer(r"curl", source.text):
            found.seen.append(Seen(label, Hit(span=source.between(*match.span()), message="curl")))
        found.wanted = (Wanted("net.outbound", 1),) if found.seen else ()
        if "???" in source.text:
            found.parse, found.unparsed = Parse.TEXT, ((1, 1),)
        return found


@pytest.fixture
def _shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let there be a reader of shell programs, whatever is installed."""
    language = registry.Language("bash", ("sh",), "tests.shell")
    others = tuple(one for one in registry.LANGUAGES if one.name != "bash")
    monkeypatch.setattr(registry, "LANGUAGES", (*others, language))
    monkeypatch.setattr(registry, "_BY_NAME", {**registry._BY_NAME, "bash": language, "sh": language})
    monkeypatch.setitem(sys.modules, "tests.shell", Shell)
    registry.reader_of.cache_clear()
    yield
    registry.reader_of.cache_clear()


@pytest.mark.usefixtures("_shell")
def test_shell_programs_are_looked_at_wherever_they_stand() -> None:
    """In Python's calls, Markdown and notebooks, each in its place; comments of the language around count."""
    code = "import os\nos.system('''\n  curl x''')\nos.system('a\\ncurl')\nos.popen('curl')  # nosec\n"
    assert [one for one in places(code, "python") if one[0] == "FH999"] == [
        ("FH999", 3, 3, "curl"), ("FH999", 4, 11, "'a\\ncurl'"),
    ]  # fmt: skip
    assert "net.outbound" in analyze(code).capabilities
    assert ("FH999", 2, 1, "curl") in places("```sh\ncurl\n```\n", "markdown")
    assert ("FH999", "curl") in {(rule, text) for rule, _, _, text in places(notebook("!curl x\n"), "notebook")}


@pytest.mark.usefixtures("_shell")
def test_a_shell_text_that_is_not_understood_does_not_spoil_the_program_around_it() -> None:
    """How Python parses is about Python; a block of Markdown counts for the Markdown."""
    assert analyze("import os\nos.system('???')\n").parse == "full"
    assert analyze("```sh\n???\n```\n", "markdown").parse == "text"


@pytest.mark.usefixtures("_shell")
def test_a_deadline_that_is_over_stops_between_blocks() -> None:
    """And the report says from which line on."""
    report = analyze("x\n\n```sh\ncurl\n```\n", "markdown", seconds=0)
    assert report.verdict == "incomplete"
    assert [finding.span.line for finding in report.findings if "blocks" in finding.message] == [4]
