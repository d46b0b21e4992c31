from __future__ import annotations

import time

import pytest

from analyzers import analyze

EVAL = "FH101"


@pytest.mark.parametrize(
    "code",
    [
        "x = input()\n" + "x = x + x\n" * 5000 + "eval(x)\n",
        "x = input()\neval(" + "(" * 90 + "x" + ")" * 90 + ")\n",
        "x = input()\neval(" + "x." + ".".join(["strip()"] * 900) + ")\n",
        "x = input()\n"
        + "".join(f"def f{n}(x):\n    return f{n + 1}(x) + f{n + 1}(x)\n" for n in range(60))
        + "eval(f0(x))\n",
        "def f(x):\n    return f(x)\neval(f(input()))\n",
        "x = input()\n" + "if x:\n    x = x + 'a'\n" * 2000 + "eval(x)\n",
        "x = input()\n" + "".join(" " * n + "for a in x:\n" for n in range(18)) + " " * 18 + "eval(a)\n",
        "x = [input()]\nx.append(x)\neval(x[1])\nx = {}\nx['a'] = x\neval(x['a'])\n",
        "x = y\ny = x\ninput()\neval(x)\n",
        "a = b\nb = a\ndef f():\n    input()\n    eval(a)\n",
        "eval(input() % {'a': 1} if 'a' * 10 ** 9 else 10 ** 10 ** 10)\n",
        "class A(A):\n    def f(self):\n        eval(self.f(input()))\nA().f()\n",
    ],
)
def test_hostile_text_is_followed_within_bounds(code: str) -> None:
    """Whatever is written, following it ends, raises nothing, and eval is told."""
    began = time.perf_counter()
    report = analyze(code)
    assert time.perf_counter() - began < 5
    assert not [one for one in report.findings if one.rule.startswith("FH00")]
    assert EVAL in [one.rule for one in report.findings]
