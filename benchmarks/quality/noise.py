"""How much the analyser says about code that is thought right: Python's own library, without its tests."""

from __future__ import annotations

import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from analyzers import Severity, analyze
from quality.measures import AT_MOST, Measure, at_least

FOLDERS = ("cpython",)
_MEDIUM, _HIGH = 0.25, 0.10
_LEFT_OUT = frozenset({"test", "tests", "idle_test", "site-packages", "__pycache__", "test_fixtures"})
_PER = 1000


def library(checkout: Path | None) -> Path:
    """Give the library of a checkout, else that of the running interpreter."""
    if checkout is not None and (checkout / "Lib").is_dir():
        return checkout / "Lib"
    return Path(sysconfig.get_path("stdlib"))


def sources(folder: Path) -> Iterator[Path]:
    """Give every file that is no test."""
    for path in sorted(folder.rglob("*.py")):
        if not _LEFT_OUT.intersection(path.relative_to(folder).parts):
            yield path


def measure(checkout: Path) -> Iterable[Measure]:
    """Count findings for a thousand lines that are not blank."""
    folder = library(checkout)
    lines = 0
    grave: dict[Severity, list[str]] = {Severity.MEDIUM: [], Severity.HIGH: []}
    rules: Counter[str] = Counter()
    for path in sources(folder):
        content = path.read_bytes()
        lines += sum(1 for line in content.splitlines() if line.strip())
        for finding in at_least(analyze(content), Severity.MEDIUM):
            rules[finding.rule] += 1
            place = f"`{path.relative_to(folder)}:{finding.span.line}` {finding.rule}"
            grave[finding.severity].append(place)
    high, all_of_them = grave[Severity.HIGH], [*grave[Severity.HIGH], *grave[Severity.MEDIUM]]
    for what, found, bound in (("medium and above", all_of_them, _MEDIUM), ("high", high, _HIGH)):
        yield Measure(
            "CPython's library without tests",
            f"{what}, for 1,000 lines",
            len(found) * _PER / max(lines, 1),
            AT_MOST,
            bound,
            f"{len(found)} in {lines:,} lines",
            tuple(found),
        )
