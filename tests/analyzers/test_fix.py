from __future__ import annotations

import pytest

from analyzers import analyze
from analyzers.fix import UnfixableError, apply
from analyzers.model import Edit, Fix, Span


def fixed(code: str, *, unsafe: bool = False) -> str:
    """Apply every fix that the report offers."""
    return apply(code, [finding.fix for finding in analyze(code, fixes=True).findings if finding.fix], unsafe=unsafe)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("try:\n    a()\nexcept:\n    b()\n", "try:\n    a()\nexcept Exception:\n    b()\n"),
        ("try: a()\nexcept: b()", "try: a()\nexcept Exception: b()"),
        ("try: a()\nexcept  :  # why\n    b()", "try: a()\nexcept Exception:  # why\n    b()"),
        ("try:\r\n    a()\r\nexcept:\r\n    b()\r\n", "try:\r\n    a()\r\nexcept Exception:\r\n    b()\r\n"),
        ("\ufefftry: a()\nexcept: b()", "\ufefftry: a()\nexcept Exception: b()"),
        ("try: a()\rexcept: b()\r", "try: a()\rexcept Exception: b()\r"),
        (
            "def f():\n\ttry:\n\t\tx = 'é'\n\texcept:\n\t\ttry: y\n\t\texcept: z\n",
            "def f():\n\ttry:\n\t\tx = 'é'\n\texcept Exception:\n\t\ttry: y\n\t\texcept Exception: z\n",
        ),
    ],
)
def test_a_bare_except_names_exception(before: str, after: str) -> None:
    """The fix changes the one header and keeps comments and line ends; then the finding is gone."""
    assert fixed(before) == after
    assert "FH301" not in [finding.rule for finding in analyze(after).findings]


def test_a_header_over_two_lines_is_fixed() -> None:
    """A continuation inside the header survives as something that parses."""
    after = fixed("try: a()\nexcept \\\n  :\n    b()\n")
    assert "except Exception" in after
    assert {finding.severity for finding in analyze(after).findings} <= {"info"}


def test_a_handler_that_raises_again_is_not_changed_unasked() -> None:
    """Where everything is handed on, narrowing would change what happens: the fix is offered, but not as safe."""
    code = "try:\n    a()\nexcept:\n    b()\n    raise\n"
    assert fixed(code) == code
    assert "except Exception:" in fixed(code, unsafe=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import ast\ny = eval(x)\n", "import ast\ny = ast.literal_eval(x)\n"),
        ("y = eval(x)\nz = eval(y)\n", "import ast\ny = ast.literal_eval(x)\nz = ast.literal_eval(y)\n"),
        ('"""Doc."""\nimport os\neval(x)\n', '"""Doc."""\nimport ast\nimport os\nast.literal_eval(x)\n'),
        (
            '"""Doc."""\nfrom __future__ import annotations\neval(x)\n',
            '"""Doc."""\nfrom __future__ import annotations\nimport ast\nast.literal_eval(x)\n',
        ),
    ],
)
def test_eval_becomes_literal_eval_when_asked(before: str, after: str) -> None:
    """The unsafe fix imports what it needs, once, in a place where an import may stand."""
    assert fixed(before) == before
    assert fixed(before, unsafe=True) == after


@pytest.mark.parametrize(
    "code", ["eval(x, {})", "eval(*x)", "e = eval\ne(x)", "eval(source=x)", "ast = 1\neval(x)", "map(eval, x)"]
)
def test_no_fix_is_offered_where_it_would_be_wrong(code: str) -> None:
    """Calls that literal_eval cannot stand in for get no fix."""
    assert analyze(code, fixes=True).findings[0].fix is None


def test_deep_brackets_get_no_fix() -> None:
    """What a parser might chew on for ever is not given to it."""
    assert analyze("eval(" + "(" * 60 + "x" + ")" * 61).findings[0].fix is None


def test_edits_for_another_text_are_refused() -> None:
    """Edits that fall outside the text, or break it, raise and change nothing."""
    far = Fix((Edit(Span(9, 1, 9, 2), "x"),), safe=True)
    breaking = Fix((Edit(Span(1, 1, 1, 2), "("),), safe=True)
    for fix in (far, breaking):
        with pytest.raises(UnfixableError):
            apply("x = 1\n", [fix])
