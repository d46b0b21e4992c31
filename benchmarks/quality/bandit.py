"""Bandit's examples (``examples/*.py``), with the counts its functional tests expect, line by line.

The truth for a line is what Bandit itself says here; a file counts where that agrees with the counts of its tests.
"""

from __future__ import annotations

import ast
import importlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from analyzers import analyze
from analyzers.quiet import no_warnings
from quality.measures import AT_LEAST, Measure, Place, explained, missing, share, shown

FOLDERS = ("bandit",)
_BOUND = 0.95
_WORDS = "the value is a phrase of words, which reads as a text and not as a password"
_EMPTY = "an empty text is no secret"
_RELATIVE = "a relative import: another module of that name"
_NOQA = "a bare noqa takes everything back; Bandit does not know it"
_IN_TEXT = "the shell command is itself a comment with that marker, which takes the finding back"
_NO_MEMBERS = "an empty list of members unpacks nothing"
REASONS = {
    "hardcoded-passwords.py:4 B105": _WORDS,
    "hardcoded-passwords.py:20 B105": _EMPTY,
    "hardcoded-passwords.py:33 B105": _WORDS,
    "hardcoded-passwords.py:62 B105": _WORDS,
    "imports-from.py:6 B404": _RELATIVE,
    "imports-from.py:7 B404": _RELATIVE,
    "skip.py:2 B603": _NOQA,
    "skip.py:3 B603": _NOQA,
    "nosec.py:9 B607": _IN_TEXT,
    "nosec.py:9 B602": _IN_TEXT,
    "nosec.py:17 B602": _IN_TEXT,
    "nosec.py:18 B607": _IN_TEXT,
    "tarfile_extractall.py:32 B202": _NO_MEMBERS,
}
"""Why each expected finding that is not reported is not."""


def measure(checkout: Path) -> Iterable[Measure]:
    """Compare with every example that a functional test names."""
    expected = found = 0
    misses: list[str] = []
    for name, count, ignores_nosec in examples(checkout):
        path = checkout / "examples" / name
        places = bandit(path, ignores_nosec=ignores_nosec)
        if len(places) != count:
            misses.append(f"`{name}`: its tests expect {count}, this release of Bandit gives {len(places)}")
        report = analyze(path.read_bytes(), honour_suppressions=not ignores_nosec)
        missed = missing(places, report)
        expected += len(places)
        found += len(places) - len(missed)
        misses += shown(name, missed)
    yield Measure(
        "Bandit examples",
        "expected findings, by id and line",
        share(found, expected),
        AT_LEAST,
        _BOUND,
        f"{found} of {expected}",
        tuple(explained(misses, REASONS)),
    )


def examples(checkout: Path) -> Iterator[tuple[str, int, bool]]:
    """Give each example that the functional tests check: its name, how many findings, whether ``nosec`` is ignored.

    A test that changes a plugin's settings checks its file again at the end with the settings of a fresh one.
    """
    tests = ast.parse((checkout / "tests/functional/test_functional.py").read_text(encoding="utf-8"))
    last: dict[tuple[str, bool], int] = {}
    for function in ast.walk(tests):
        if not isinstance(function, ast.FunctionDef):
            continue
        expect: dict[str, dict[str, int]] = {}
        changed = any(isinstance(node, ast.With) for node in ast.walk(function))
        for node in (part for statement in function.body for part in ast.walk(statement)):
            match node:
                case ast.Assign(targets=[ast.Name(id="expect")], value=value):
                    expect = _counts(value)
                case ast.Call(func=ast.Attribute(attr="check_example"), args=[ast.Constant(value=name), *_]) if (
                    not changed and expect
                ):
                    ignores = any(keyword.arg == "ignore_nosec" for keyword in node.keywords)
                    last[str(name), ignores] = sum(expect["SEVERITY"].values())
    for (name, ignores), count in last.items():
        yield name, count, ignores


def _counts(value: ast.expr) -> dict[str, dict[str, int]]:
    """Read the counts of a test; none where they depend on the interpreter."""
    try:
        counts: dict[str, dict[str, int]] = ast.literal_eval(value)
    except ValueError:
        return {}
    return counts


def bandit(path: Path, *, ignores_nosec: bool) -> list[Place]:
    """Give what Bandit says about a file."""
    with no_warnings():
        manager: Any = importlib.import_module("bandit.core.manager")
        config: Any = importlib.import_module("bandit.core.config")
        own = manager.BanditManager(config.BanditConfig(), "file", ignore_nosec=ignores_nosec)
        own._parse_file(path.name, io.BytesIO(path.read_bytes()), [path.name])  # noqa: SLF001 - reads one file
    return [Place(issue.test_id, issue.lineno, max([issue.lineno, *issue.linerange])) for issue in own.results]
