"""Text that is made to be slow, deep or large, in every language: answered within its budget, and never as clean."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from analyzers import Verdict
from analyzers.isolate import Pool
from quality.measures import AT_LEAST, AT_MOST, Measure, share

FOLDERS = ()
_SECONDS = 5.0
_GRACE_SECONDS = 1.0
"""For a worker that has to be stopped, on a machine that does other things."""
_LEVELS = 100_000
_ALARMS = {
    "python": "eval(input())\n",
    "go": 'exec.Command("sh", "-c", os.Args[1])\n',
    "bash": 'eval "$1"\n',
}


def measure(_: Path) -> Iterable[Measure]:
    """Send each text to a warm worker, with something to be found in front of it."""
    late, passed, asked = [], [], 0
    with Pool(1, seconds=_SECONDS) as pool:
        for language, alarm in _ALARMS.items():
            for name, text in texts():
                began = time.perf_counter()
                report = pool.analyze(alarm + text, language, seconds=_SECONDS)
                took = time.perf_counter() - began
                asked += 1
                if took > _SECONDS + _GRACE_SECONDS:
                    late.append(f"{language}, {name}: {took:.1f} s")
                if report.verdict is Verdict.PASS:
                    passed.append(f"{language}, {name}")
    within = asked - len(late)
    budget = f"answered within {_SECONDS:.0f} s"
    yield Measure("Hostile text", budget, share(within, asked), AT_LEAST, 1, f"{within} of {asked}", tuple(late))
    counted = f"{len(passed)} of {asked}"
    yield Measure("Hostile text", "taken for clean", share(len(passed), asked), AT_MOST, 0, counted, tuple(passed))


def texts() -> Iterator[tuple[str, str]]:
    """Give the texts by name. What is a program in one language is rubbish in another, which is hostile too."""
    for opening in ("(", "[", "{", "f(", "-", "not ", "lambda: ", "if a {", "if a; then ", "$(", "${", "[[ ", "`"):
        yield f"{_LEVELS:,} of `{opening.strip()}`", opening * _LEVELS
    for part in (
        "a.b",
        "a+",
        "a|",
        "a && ",
        "a, ",
        "//\n",
        "# nosec\n",
        "```\n",
        "<<EOF\n",
        '"""',
        "'",
        "\\",
        ">>> x\n",
    ):
        yield f"{_LEVELS:,} times `{part.strip()}`", part * _LEVELS
    yield "one line of 10 MB", "x = '" + "a" * 10_000_000 + "'\n"
    yield "one name of 10 MB", "a" * 10_000_000
    yield "a million commas", "f(" + "," * 1_000_000 + ")\n"
    yield "a million numbers", "x = [" + "1," * 1_000_000 + "]\n"
    yield "a million findings", "eval(x)\n" * 1_000_000
    yield "elif 20,000 times", "if a:\n pass\n" + "elif a:\n pass\n" * 20_000
    yield "nested blocks", "".join(f"{' ' * depth}if x:\n" for depth in range(2000))
    yield "names that are made of each other", "".join(f"x{at} = x{at + 1} + x{at + 2}\n" for at in range(3000))
    yield "functions that call each other", "".join(f"def f{at}(a):\n  return f{at + 1}(a)\n" for at in range(3000))
    yield "one name set 30,000 times", "x = x + x\n" * 30_000 + "eval(x)\n"
    yield "null bytes", "\0" * 10_000
    yield "tabs and form feeds", "\t\f" * 500_000
    yield "line ends of every kind", "a\r\nb\rc\n\x0b\x0c\u2028" * 50_000
    yield "half a character", "x = '\ud800'\n"
    yield "bait for backtracking", "a" * 50_000 + "!" + " " * 50_000 + "x" + "=" * 50_000
    yield "prefixes of tokens", "sk-ghp_AKIAeyJ-----BEGIN " * 40_000
    yield "cookies of codings", "# -*- coding: latin-1 -*-\n" * 1000 + "\xff" * 1000
