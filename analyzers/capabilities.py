"""What code wants to do if it is run, held against what a run may do. Nothing is run, and nothing is promised.

A capability is a word such as ``net.outbound``; ``fs.write:/etc/hosts`` says where. What is found is what shows: code
that is made while it runs (``dynamic.code``) can want more.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from analyzers.model import Confidence, Finding, Severity, Span
from analyzers.named import NamedTuple
from analyzers.quoting import checksum
from analyzers.rule import Label, Page

OUTBOUND = "net.outbound"
LISTEN = "net.listen"
PROCESSES = "proc.spawn"
READ = "fs.read"
WRITE = "fs.write"
ENVIRONMENT = "env.read"
DYNAMIC = "dynamic.code"
KNOWN = (OUTBOUND, LISTEN, PROCESSES, READ, WRITE, ENVIRONMENT, DYNAMIC)

MOST = 24
"""More places that are written to are told as ``fs.write`` alone."""
_MOST_PATH = 200
_DEVICES = frozenset({"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
_LABEL = Label("FH720", "unmet-capability", Severity.INFO, Confidence.MEDIUM)
PAGE = Page(
    *_LABEL,
    "The code wants to do what the run that it is meant for may not: reach the network, start processes, write outside "
    "the writable places.\n\n"
    "It is told before anything is started, so that whoever wrote the code can change it, or ask for a run that may. "
    "What is found is what shows in the text; a run's walls hold whatever is found.",
)


class Wanted(NamedTuple):
    """A capability, and the first line that shows it."""

    capability: str
    line: int


class Allowed(NamedTuple):
    """What a run may do, as far as code can be held against it."""

    network: bool = False
    processes: int = 1
    writable_paths: tuple[str, ...] = ()
    """Absolute paths below which files may be written."""


def touched(capability: str, path: str | None) -> str | None:
    """Give the capability with the file it is about where that is an absolute path; None for a device of no content.

    ``path`` is None where it is not known before the code runs.
    """
    if path in _DEVICES:
        return None
    if path is None or not path.startswith("/") or len(path) > _MOST_PATH or not path.isprintable():
        return capability
    return f"{capability}:{path}"


def collected(wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """Give each capability once, in order, with the first line of each."""
    first: dict[str, int] = {}
    for capability, line in wanted:
        if capability not in first or line < first[capability]:
            first[capability] = line
    placed = [capability for capability in first if ":" in capability]
    for capability in placed[MOST:]:
        line = first.pop(capability)
        plain = capability.partition(":")[0]
        first[plain] = min(line, first.get(plain, line))
    order = {capability: number for number, capability in enumerate(KNOWN)}
    return tuple(
        Wanted(capability, first[capability])
        for capability in sorted(first, key=lambda one: (order.get(one.partition(":")[0], len(KNOWN)), one))
    )


def unmet(wanted: Iterable[Wanted], allowed: Allowed) -> list[Finding]:
    """Say what the code wants and the run does not have."""
    return [_finding(one, why) for one in wanted if (why := _why(one.capability, allowed)) is not None]


def denied(wanted: Iterable[str], denials: Iterable[str]) -> list[str]:
    """Give those of the wanted capabilities that one of ``denials`` covers.

    ``fs.write`` covers every place, ``fs.write:/etc`` what is known to lie at or below ``/etc``: not a path that only
    shows when the code runs.
    """
    covers = [denial.partition(":") for denial in denials]
    return [one for one in wanted if any(_covers(kind, folder, one) for kind, _, folder in covers)]


def _covers(kind: str, folder: str, capability: str) -> bool:
    wanted, _, place = capability.partition(":")
    return wanted == kind and (not folder or (bool(place) and _is_below(place, folder)))


def _why(capability: str, allowed: Allowed) -> str | None:
    kind, _, place = capability.partition(":")
    if kind == OUTBOUND and not allowed.network:
        return "needs the network, which this run does not have"
    if kind == LISTEN and not allowed.network:
        return "waits for connections, which nobody can make to this run"
    if kind == PROCESSES and allowed.processes < 2:  # noqa: PLR2004 - itself and one more
        return "starts a process, and this run may have one only"
    if kind == WRITE and place and not any(_is_below(place, folder) for folder in allowed.writable_paths):
        return f"writes {place[:80]}, which this run cannot"
    return None


def _is_below(path: str, folder: str) -> bool:
    # normpath keeps two leading slashes apart, which Linux does not.
    place, above = (f"/{posixpath.normpath(one).lstrip('/')}" for one in (path, folder))
    return place == above or place.startswith(above.rstrip("/") + "/")


def _finding(wanted: Wanted, why: str) -> Finding:
    return Finding(
        rule=_LABEL.id,
        name=_LABEL.name,
        severity=_LABEL.severity,
        confidence=_LABEL.confidence,
        message=why,
        span=Span(wanted.line, 1, wanted.line, 1),
        snippet=wanted.capability[:200],
        fingerprint=checksum(f"{_LABEL.id} {wanted.capability}"),
    )
