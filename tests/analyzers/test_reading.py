from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers import analyze
from analyzers.deadline import Deadline
from analyzers.python.reading import read
from analyzers.python.reading.patches import Mended, Patch
from analyzers.source import Source

RUN = "os.system(x)"
WRAPPED = {
    "indented": f"    import os\n    {RUN}\n",
    "indented by tabs": f"\timport os\n\t{RUN}\n",
    "fenced": f"Try this:\n\n```python\nimport os\n{RUN}\n```\n\nIt works.\n",
    "fence left open": f"```py\nimport os\n{RUN}\n",
    "fence opened before": f"import os\n{RUN}\n```\nThat was it.\n",
    "fence in a list": f"1. First\n\n   ```python\n   import os\n   {RUN}\n   ```\n",
    "two fences": f"```bash\nls -l | wc\n```\n```python\nimport os\n{RUN}\n```\n",
    "prompts": f">>> import os\n>>> {RUN}\n0\n",
    "IPython": f"In [1]: import os\n\nIn [2]: {RUN}\nOut[2]: 0\n",
    "diff": f"--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n import os\n-os.getcwd()\n+{RUN}\n",
    "bare diff": f"+import os\n+y = 1\n+{RUN}\n",
    "magics": f"%matplotlib inline\nimport os\n!ls\nfiles = !ls\nos?\n{RUN}\n",
    "magic before a statement": f"import os\n%time {RUN}\n",
    "cell magic": f"%%time\nimport os\n{RUN}\n",
    "smart quotes": f"import os\nprint(\u201chi\u201d)\n{RUN}\n",
    "odd spaces": f"import os\nx\u00a0= 1\n{RUN}\n",
    "print statement": f"import os\nprint 'a', {RUN}\n",
    "print to a file": f"import os\nprint >>f, 'a'\n{RUN}\n",
    "old except": f"import os\ntry:\n    {RUN}\nexcept OSError, e:\n    raise E, 'b'\n",
    "old literals": f"import os\nx = 0777 + 12L\nif a <> b: `c`; ur'd'\n{RUN}\n",
    "mixed tabs": f"import os\nif a:\n        b\n\t{RUN}\n",
    "lazy import": f"lazy import os\n{RUN}\n",
    "type statement": f"import os\ntype X[T] = list[T]\n{RUN}\n",
    "type parameters": f"import os\ndef f[T](x: T) -> T: {RUN}\nclass A[T: int]: pass\n",
    "quotes in an f-string": f"import os\nf'{{y['a']}} {{z}}'\n{RUN}\n",
    "template": f"import os\nt'a {{y}}'\n{RUN}\n",
    "except without brackets": f"import os\ntry:\n    {RUN}\nexcept ValueError, TypeError:\n    pass\n",
    "star in a comprehension": f"import os\n[*y for y in z]\n{RUN}\n",
}


def found(code: str) -> list[tuple[str, int, str]]:
    """Give rule, line and snippet of what is grave enough to fail."""
    return [
        (finding.rule, finding.span.line, finding.snippet)
        for finding in analyze(code).findings
        if finding.severity != "info"
    ]


@pytest.mark.parametrize("code", WRAPPED.values(), ids=WRAPPED)
def test_what_code_is_wrapped_in_hides_nothing(code: str) -> None:
    """Cheap repairs give a whole program, and what is found stands where it stands in the text as it was sent."""
    report = analyze(code)
    assert report.parse in {"full", "repaired"}  # a newer interpreter reads some of them by itself
    assert report.unparsed == ()
    assert report.verdict == "fail"
    line = next(number for number, text in enumerate(code.split("\n"), 1) if RUN in text)
    assert ("FH111", line, RUN) in found(code)
    (finding,) = (one for one in report.findings if one.snippet == RUN)
    assert code.split("\n")[line - 1][finding.span.column - 1 :].startswith(RUN)


@pytest.mark.parametrize(
    "code",
    [
        "import os\ndef f(x):\n    os.system(x)\n    y = g(",
        "import os\ndef f(x):\n    os.system(x)\n    y = [1, 2,",
        "import os\ndef f(x):\n    os.system(x)\n    for a in range(10):",
        "import os\ndef f(x):\n    os.system(x)\n    for a in range(10):  # and so on",
        "import os\ndef f(x):\n    os.system(x)\n    y = 'abc",
        'import os\ndef f(x):\n    os.system(x)\n    y = """abc\n    def',
        "import os\ntry:\n    os.system(x)\n    y = 1 +",
        "import os\ntry:\n    os.system(x)\nexcept",
        "import os\ntry:\n    os.system(x)\nexcept Val",
        "import os\nos.system(x)\nclass A",
        "import os\nos.system(x)\nfrom os import",
        "import os\nos.system(x)\ny = os.",
        "import os\nos.system(x)\ndef f(a,\n      b",
        "import os\nos.system(x)\n@decorated",
        "import os\nos.system(x)\nif a and",
    ],
)
def test_a_cut_off_end_costs_only_the_end(code: str) -> None:
    """What stands before the cut is found, and the last lines are told as not understood."""
    report = analyze(code)
    assert report.parse == "repaired"
    assert [(rule, snippet) for rule, _, snippet in found(code)] == [("FH111", RUN)]
    assert report.unparsed[-1][1] == len(code.split("\n"))
    assert report.unparsed[0][0] > code.split(RUN, maxsplit=1)[0].count("\n") + 1


@pytest.mark.parametrize(
    ("code", "lost", "kept"),
    [
        ("def f(x:\n    eval(x)\n\ndef g(y):\n    z = = 3\n    exec(y)\n", ((1, 1), (5, 5)), [2, 6]),
        ("x = = eval(a) b(eval(c)\nexec(d)\n", ((1, 1),), [1, 1, 2]),
        ("class A:\n    def f(self):\n        eval(x)\n    def g(self) return 1\n    z = eval(y)\n", ((4, 4),), [3, 5]),
        ("try:\n    eval(x)\nexcept A as:\n    exec(y)\nelse:\n    eval(z)\n", ((3, 3),), [2, 4, 6]),
        ("foo(1, 2\ndef g():\n    eval(x)\n", ((1, 1),), [3]),
        ("x = 'abc\ndef g():\n    eval(x)\n", ((1, 1),), [3]),
        ('x = """abc\ndef g():\n    eval(x)\n', ((1, 1),), [3]),
        ("if a = 1:\n    eval(x)\nelif b = 2:\n    exec(x)\n", ((1, 1), (3, 3)), [2, 4]),
        ("y = " + "(" * 1000 + "\neval(x)\n", ((1, 1),), [2]),
        ("@a(\ndef f():\n    eval(x)\nexec(y)\n", ((1, 2),), [3, 4]),
    ],
)
def test_errors_in_the_middle_cost_their_lines(code: str, lost: object, kept: list[int]) -> None:
    """Around lines that are no Python everything is found; of those lines, the calls that can be told."""
    report = analyze(code)
    assert (report.parse, report.unparsed) == ("partial", lost)
    assert [finding.span.line for finding in report.findings if finding.rule in {"FH101", "FH102"}] == kept
    assert all(finding.confidence != "high" for finding in report.findings)


@pytest.mark.parametrize(
    "code",
    [
        "eval(input())\n>>> x\n>>> y\n",
        ">>> x\n1\neval(input())\n>>> y\n",
        "eval(input())\n```python\nx = 1\n```\n",
        "```python\nx = 1\n```\neval(input())\n",
        "Row(1)\n>>> x\n" * 1000 + "eval(input())\n>>> x",
    ],
)
def test_a_wrapping_hides_nothing(code: str) -> None:
    """What stands beside prompts and fences and is a program is looked at, however much of it there is."""
    report = analyze(code)
    assert report.verdict == "fail"
    assert {finding.rule for finding in report.findings} >= {"FH101"}


def test_a_first_line_that_lost_its_indentation() -> None:
    """Lines indented below a whole statement are read beside it."""
    code = "import os\n    os.system(x)\n    eval(y)\n"
    assert analyze(code).parse == "repaired"
    assert [line for _, line, _ in found(code)] == [2, 3]


def test_prose_is_text() -> None:
    """Where no statement can be told only tokens were looked at."""
    report = analyze("This is a text about eval(x), and nothing else.\nReally nothing.\n")
    assert report.parse == "text"
    assert report.unparsed == ((1, 2),)


def test_shell_lines_of_a_notebook_are_shells() -> None:
    """``!command {value}`` starts a shell with a value of the program in it."""
    assert ("FH111", 2, "!ls {folder}") in found("%pylab\n!ls {folder}\n")


def test_confidence_is_lowered() -> None:
    """What is found in a mended text is less sure than in a whole one."""
    whole, mended = (analyze(code).findings[0].confidence for code in ("eval(x)\n", "  eval(x)\n"))
    assert (whole, mended) == ("high", "medium")


PIECES = st.sampled_from(
    [
        "```python", "```", ">>> ", "... ", "+", "-", "@@ ", " ", "\t", "    ", "%time ", "!ls", "print x", "try:",
        "except", "except A, b:", "else:", "if x:", "def f(", ")", "(", "[", "]", "{", "}", '"', "'", '"""', "t''",
        "f'{x['a']}'", "lazy import x", "type X = 1", "class A[T]:", "eval(x)", "x = ", "@a", ",", ":", ";",
        "#", "\\", "\n", "0777", "`", "<>", "\u00a0", "\x00", "\ud800", "é", "\r",
    ]
)  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_mending_gives_a_tree_that_lies_in_the_text(code: str) -> None:
    """Whatever was done to the text, every node of its tree is placed within the text as it was sent."""
    source = Source(code.replace("\r", "\n"))
    reading = read(source, None, Deadline(None))
    if reading.module is None:
        return
    for node in ast.walk(reading.module):
        if isinstance(node, (ast.expr, ast.stmt)):
            span = reading.source.span(node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            assert 1 <= span.line <= span.end_line <= len(source.lines)
            assert 1 <= span.column <= len(source.lines[span.line - 1]) + 1
            assert 1 <= span.end_column <= len(source.lines[span.end_line - 1]) + 1
            assert (span.line, span.column) <= (span.end_line, span.end_column)


def test_places_are_counted_back_through_rounds() -> None:
    """Two rounds of patches in one line keep what stands between and behind them in its place."""
    source = Source("ab cd ef\nxy")
    mended = Mended(source).with_patches([Patch(0, 2, ""), Patch(6, 6, "!!")])
    assert mended.text == " cd !!ef\nxy"
    again = mended.with_patches([Patch(0, 1, "..."), Patch(9, 9, "?")])
    assert again.text == "...cd !!ef\n?xy"
    assert [again.original(1, column) for column in (3, 4, 8, 9)] == [3, 4, 6, 7]
    assert again.original(2, 1) == 0


@pytest.mark.parametrize(
    "code",
    [
        "a" + ".b" * 50_000 + " = =",
        "f(" * 20_000,
        "x = = f(a) g(\n" * 3_000,
        "if a:\n pass\n" + "elif a:\n pass\n" * 5_000,
        'f"{' * 20_000,
        'f"{x["a"]}" = = \n' * 3_000,
        ">>> x = = 1\n" * 10_000,
        "def f[" * 5_000,
        "".join(" " * depth + "try:\n" for depth in range(500)) + " " * 500 + "x = = 1",
        "@a\n" * 10_000 + "x = = 1",
        '"""' * 20_001,
    ],
    ids=lambda code: code[:12],
)
def test_mending_takes_no_time_to_speak_of(code: str) -> None:
    """Text that is made to be hard to mend is answered all the same."""
    started = time.process_time()
    analyze(code)
    assert time.process_time() - started < 10
