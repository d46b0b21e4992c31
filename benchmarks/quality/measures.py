"""What a corpus says about the analyser, and how findings are compared with what another tool expects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from analyzers import Finding, Report, Severity

AT_LEAST, AT_MOST = ">=", "<="


class Measure(NamedTuple):
    """One figure against its bound. ``misses`` names each case that was not as expected."""

    corpus: str
    what: str
    value: float
    relation: str
    bound: float
    counted: str = ""
    misses: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the figure is within its bound."""
        return self.value >= self.bound if self.relation == AT_LEAST else self.value <= self.bound


class Place(NamedTuple):
    """A finding that is expected: another tool's name for it, and the lines that it may be reported on."""

    name: str
    line: int
    last_line: int


def share(part: int, whole: int) -> float:
    """Part of the whole; 0 where there is nothing."""
    return part / whole if whole else 0.0


def names(finding: Finding) -> Iterator[str]:
    """Every name a finding has: ours, and those of other tools. Ruff's S rules have the numbers of Bandit's."""
    for name in (finding.rule, *finding.also):
        yield name
        if name.startswith("B") and name[1:].isdigit():
            yield f"S{name[1:]}"


def missing(expected: Iterable[Place], report: Report) -> list[Place]:
    """Give what is expected and not there. One finding may stand for several of other names, for one of each name."""
    found: dict[str, list[Finding]] = {}
    for finding in report.findings:
        for name in set(names(finding)):
            found.setdefault(name, []).append(finding)
    missed = []
    for place in expected:
        candidates = found.get(place.name, [])
        match = next((one for one in candidates if touches(one, place)), None)
        if match is None:
            missed.append(place)
        else:
            candidates.remove(match)
    return missed


def touches(finding: Finding, place: Place) -> bool:
    """Whether a finding is reported on one of the expected lines."""
    return (
        place.line <= finding.span.line <= place.last_line or finding.span.line <= place.line <= finding.span.end_line
    )


def at_least(report: Report, severity: Severity) -> list[Finding]:
    """Give the findings of this severity or a graver one."""
    return [finding for finding in report.findings if finding.severity.rank >= severity.rank]


def shown(name: str, places: Collection[Place]) -> list[str]:
    """Name what was missed in one file; what stands there is its owner's, and is not repeated."""
    return [f"`{name}:{place.line}` {place.name}" for place in places]


def explained(misses: Iterable[str], reasons: Mapping[str, str]) -> list[str]:
    """Add to each miss why it is one, where that is known; ``reasons`` are by ``file:line rule``."""
    told = ((miss, reasons.get(miss.replace("`", ""))) for miss in misses)
    return [miss if why is None else f"{miss}: {why}" for miss, why in told]
