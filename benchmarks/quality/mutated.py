"""The same samples cut off at every tenth line, indented, and fenced: what is found before the cut stays found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from analyzers import Finding, analyze
from quality.gosec import samples
from quality.measures import AT_LEAST, Measure, share

FOLDERS = ("bandit", "ruff", "gosec")
_BOUND = 0.95
_EVERY = 10
_SAMPLES = ("examples/*.py", "crates/ruff_linter/resources/test/fixtures/flake8_bandit/*.py")


def measure(checkout: Path) -> Iterable[Measure]:
    """Compare every mutation of every sample with the sample."""
    for kind in ("cut", "indented", "fenced"):
        kept = expected = 0
        misses: list[str] = []
        for name, language, text in _texts(checkout):
            whole = analyze(text, language)
            if whole.parse != "full":
                continue
            for mutant, lines, shift in _mutants(text, kind, language):
                before = _places(whole.findings, lines, 0)
                after = _places(analyze(mutant, language).findings, lines, shift)
                lost = before - after
                expected += before.total()
                kept += before.total() - lost.total()
                misses += [f"`{name}` {kind} at {lines}: {rule} of line {line}" for rule, line in sorted(lost)]
        yield Measure(
            f"{checkout.name} samples, {kind}",
            "findings that stay",
            share(kept, expected),
            AT_LEAST,
            _BOUND,
            f"{kept} of {expected}",
            tuple(misses[:200]),
        )


def _texts(checkout: Path) -> Iterator[tuple[str, str, str]]:
    """Give each sample: its name, language and text."""
    for path in sorted(path for pattern in _SAMPLES for path in checkout.glob(pattern)):
        yield path.name, "python", path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    for sample in samples(checkout):
        for text in sample.files:
            yield sample.name, "go", text


def _mutants(text: str, kind: str, language: str) -> Iterator[tuple[str, int, int]]:
    """Give texts, how many lines of the sample are in each, and how far down they stand."""
    lines = text.split("\n")
    if kind == "cut":
        for end in range(_EVERY, len(lines), _EVERY):
            # The cut goes through the middle of a line, as it does where a model runs out of tokens.
            cut = lines[end][: len(lines[end]) // 2]
            yield "\n".join([*lines[:end], cut]), end, 0
    elif kind == "indented":
        yield "\n".join(f"    {line}" if line.strip() else line for line in lines), len(lines), 0
    else:
        yield f"Some words first.\n\n```{language}\n{text}\n```\n\nAnd some after.\n", len(lines), 3


def _places(findings: Iterable[Finding], lines: int, shift: int) -> Counter[tuple[str, int]]:
    """Count rules by line, for what ends before the cut."""
    return Counter(
        (finding.rule, finding.span.line - shift) for finding in findings if finding.span.end_line - shift <= lines
    )
