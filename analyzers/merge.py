"""One thing seen twice is one finding: our rules against each other, then Bandit's against ours."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from analyzers.model import Span
from analyzers.rule import Seen

_MAX_COMPARED = 50
_GUESS = "FH206"
_DEFAULTS = "B107"
"""Bandit reports a default where its function begins, we report it where it stands."""


def merge(ours: Iterable[Seen], others: Iterable[Seen]) -> list[Seen]:
    """Keep everything we saw once, and of the others what none of ours already says."""
    kept = _one_per_secret(ours)
    others = list(others)
    if not others:
        return kept
    by_place: dict[tuple[str, int], list[Span]] = defaultdict(list)
    defaults: list[int] = []
    for seen in kept:
        for code in seen.also:
            by_place[code, seen.hit.span.line].append(seen.hit.span)
            if code == _DEFAULTS:
                defaults.append(seen.hit.span.line)
    defaults.sort()
    known: set[tuple[str, Span]] = set()
    for seen in others:
        span, code = seen.hit.span, seen.label.id
        near = by_place.get((code, span.line), ())
        if any(_overlap(span, other) for other in near[:_MAX_COMPARED]) or len(near) > _MAX_COMPARED:
            continue
        if code == _DEFAULTS and _any_within(defaults, span):
            continue
        if (code, span) not in known:
            known.add((code, span))
            kept.append(seen)
    return kept


def _one_per_secret(ours: Iterable[Seen]) -> list[Seen]:
    """A value that is a secret both by its shape and by its name is reported by its shape, with the names of both."""
    everything = _without_guesses(list(ours))
    shaped = sorted(
        (
            (index, seen.hit.secret)
            for index, seen in enumerate(everything)
            if seen.hit.secret is not None and seen.label.id != "FH201"
        ),
        key=lambda pair: pair[1],
    )
    ends = [(span.end_line, span.end_column) for _, span in shaped]
    values: set[Span] = set()
    dropped: set[int] = set()
    for index, seen in enumerate(everything):
        secret = seen.hit.secret
        if secret is None or seen.label.id != "FH201":
            continue
        at = bisect_left(ends, (secret.line, secret.column + 1))
        if at < len(shaped) and _overlap(shaped[at][1], secret):
            other = shaped[at][0]
            both = dict.fromkeys((*everything[other].also, *seen.also))
            # Of the two places the one that shows the name as well says more.
            hit = everything[other].hit._replace(span=seen.hit.span)
            everything[other] = everything[other]._replace(hit=hit, also=tuple(both))
            dropped.add(index)
        elif secret in values:
            dropped.add(index)
        values.add(secret)
    return [seen for index, seen in enumerate(everything) if index not in dropped]


def _without_guesses(everything: list[Seen]) -> list[Seen]:
    """Drop a random-looking text of which another rule says what it is."""
    if all(seen.label.id != _GUESS for seen in everything):
        return everything
    told = [seen.hit.secret for seen in everything if seen.label.id != _GUESS and seen.hit.secret is not None]
    return [
        seen
        for seen in everything
        if seen.label.id != _GUESS or not any(_overlap(seen.hit.span, secret) for secret in told)
    ]


def _overlap(one: Span, other: Span) -> bool:
    starts_before = (one.line, one.column) < (other.end_line, other.end_column)
    ends_after = (one.end_line, one.end_column) > (other.line, other.column)
    return starts_before and ends_after


def _any_within(lines: list[int], span: Span) -> bool:
    at = bisect_left(lines, span.line)
    return at < len(lines) and lines[at] <= span.end_line
