"""Ruff's fixtures for its flake8-bandit rules, with the diagnostics of its snapshots."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from analyzers import analyze
from quality.measures import AT_LEAST, Measure, Place, explained, missing, share, shown

FOLDERS = ("ruff",)
_BOUND = 0.90
_BRIEF = "six letters or fewer under the name token: what is issued as a token is longer"
_OTHER_NAME = "the name beside the value is another"
_MIXED = "the literal is in part an f-string"
_SAFE_LOADER = "that loader makes texts only and is as safe as the safe one"
REASONS = {
    "S104.py:24 S104": _MIXED,
    **dict.fromkeys([f"S105.py:{line} S105" for line in (18, 32, 48, 56, 60, 63, 66)], _BRIEF),
    "S105.py:58 S105": _OTHER_NAME,
    "S108.py:25 S108": _MIXED,
    "S202.py:20 S202": "an empty list of members unpacks nothing",
    **dict.fromkeys([f"S506.py:{line} S506" for line in (41, 42, 43, 44, 46, 48, 50)], _SAFE_LOADER),
}
"""Why each diagnostic that is not reported is not."""
_FIXTURES = "crates/ruff_linter/resources/test/fixtures/flake8_bandit"
_SNAPSHOTS = "crates/ruff_linter/src/rules/flake8_bandit/snapshots"
_DIAGNOSTIC = re.compile(r"^(?P<rule>S\d{3}) .*\n +--> (?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+)", re.MULTILINE)
_OTHER_SETTINGS = ("preview__", "S108_extend", "S110_typed")


def measure(checkout: Path) -> Iterable[Measure]:
    """Compare with every snapshot that was made with the default settings."""
    expected = found = 0
    misses: list[str] = []
    for path, places in fixtures(checkout):
        missed = missing(places, analyze(path.read_bytes(), honour_suppressions=True))
        expected += len(places)
        found += len(places) - len(missed)
        misses += shown(path.name, missed)
    yield Measure(
        "Ruff flake8-bandit fixtures",
        "diagnostics on the same line",
        share(found, expected),
        AT_LEAST,
        _BOUND,
        f"{found} of {expected}",
        tuple(explained(misses, REASONS)),
    )


def fixtures(checkout: Path) -> Iterator[tuple[Path, list[Place]]]:
    """Give each fixture with what Ruff says about it."""
    by_file: dict[str, list[Place]] = defaultdict(list)
    for snapshot in sorted((checkout / _SNAPSHOTS).glob("*.snap")):
        if not any(part in snapshot.name for part in _OTHER_SETTINGS):
            for match in _DIAGNOSTIC.finditer(snapshot.read_text(encoding="utf-8")):
                line = int(match["line"])
                by_file[match["file"]].append(Place(match["rule"], line, line))
    for name, places in sorted(by_file.items()):
        yield checkout / _FIXTURES / name, places
