"""Which findings somebody wants to hear of, and how grave they are to him: selectors, and a table of severities.

A selector is the beginning of a rule's id (``FH2``), its name (``eval-used``), another tool's name for it (``B105``,
``S105``, ``E722``), a weakness (``CWE-798``) or ``ALL``. The longest selector that fits decides, as in Ruff; of two of
the same length the one that takes away.
"""

from __future__ import annotations

from collections.abc import Iterable

from analyzers.model import Finding, Severity
from analyzers.named import NamedTuple
from analyzers.rule import Seen

ALL = "ALL"


class Choice(NamedTuple):
    """What is selected, what is ignored, and severities other than the rules' own."""

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    severities: tuple[tuple[str, Severity], ...] = ()

    def of(self, everything: Iterable[Seen]) -> list[Seen]:
        """Keep what is wanted, graded as is wanted."""
        if self == EVERYTHING:
            return list(everything)
        return [self._graded(seen) for seen in everything if self._wants(seen)]

    def _wants(self, seen: Seen) -> bool:
        names = _names(seen)
        return _longest(self.select, names) > _longest(self.ignore, names)

    def _graded(self, seen: Seen) -> Seen:
        names = _names(seen)
        fitting = [(fit(selector, names), severity) for selector, severity in self.severities]
        length, severity = max(fitting, default=(-1, None), key=lambda pair: pair[0])
        return seen if length < 0 or severity is None else seen._replace(hit=seen.hit._replace(severity=severity))


EVERYTHING = Choice()
"""Every finding, as grave as its rule says."""


def _longest(selectors: Iterable[str], names: Iterable[str]) -> int:
    return max((fit(selector, names) for selector in selectors), default=-1)


def fit(selector: str, names: Iterable[str]) -> int:
    """Say how much a selector says about a finding of these names: -1 where it is about another."""
    wanted = selector.upper()
    if wanted == ALL:
        return 0
    for name in names:
        rest = name.removeprefix(wanted)
        if not rest or (rest != name and rest.isdigit() and not name.startswith("CWE")):
            return len(wanted)
    return -1


def names_of(finding: Finding) -> tuple[str, ...]:
    """Give every name by which a selector may mean a finding."""
    return _all_names(finding.rule, finding.name, finding.cwe, finding.also)


def _names(seen: Seen) -> tuple[str, ...]:
    cwe = seen.label.cwe if seen.hit.cwe is None else seen.hit.cwe
    return _all_names(seen.label.id, seen.label.name, cwe, seen.also)


def _all_names(rule: str, name: str, cwe: int | None, also: Iterable[str]) -> tuple[str, ...]:
    names = [rule.upper(), name.upper()]
    if cwe is not None:
        names.append(f"CWE-{cwe}")
    for code in also:
        names.append(code.upper())
        if code.startswith("B") and code[1:].isdigit():
            names.append(f"S{code[1:]}")
    return tuple(names)
