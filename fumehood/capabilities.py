"""What this service can do, on this machine, under these settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from analyzers import languages
from fumehood import __version__, permissions
from fumehood.responses import AnalysisOffer, Capabilities, FilesRange, ForkServer, LimitsOut, LimitsRange, RuntimeOut
from fumehood.schemas import LimitsIn
from sandbox import Limits, NetworkKind

if TYPE_CHECKING:
    from fumehood.auth import Caller
    from fumehood.executions import Box
    from fumehood.settings import Settings

_NETWORKS = (NetworkKind.NONE,)


def describe(box: Box, settings: Settings, caller: Caller) -> Capabilities:
    """The answer of ``/v1/capabilities``: what this caller may have."""
    grants = caller.grants
    ceilings = grants.limits.under(box.ceilings)
    return Capabilities(
        version=__version__,
        runtimes=tuple(
            RuntimeOut(
                name=one.name,
                aliases=one.aliases,
                version=one.version,
                packages=dict(one.packages),
                limits=LimitsOut(**asdict(LimitsIn().under(ceilings, one.limits))),
            )
            for one in permissions.languages(grants, box.runtimes)
        ),
        limits=LimitsRange(
            defaults=LimitsOut(**asdict(LimitsIn().under(ceilings, Limits()))),
            ceilings=LimitsOut(**asdict(ceilings)),
        ),
        files=FilesRange(
            files_in=settings.files_in,
            files_in_bytes=settings.files_in_bytes,
            files_out=settings.files_out,
            files_out_bytes=settings.files_out_bytes,
        ),
        body_bytes=settings.body_bytes,
        networks=tuple(kind for kind in _NETWORKS if grants.networks is None or kind in grants.networks),
        analysis=AnalysisOffer(languages=languages()),
        concurrency=min(settings.concurrency, grants.concurrency or settings.concurrency),
        queue=settings.queue if grants.queue is None else min(settings.queue, grants.queue),
        rate_per_minute=grants.rate_per_minute,
        layers=box.layers,
        lacking=box.lacking,
        fork_servers=fork_servers(box),
    )


def fork_servers(box: Box) -> tuple[ForkServer, ...]:
    """What each fork server tells of itself at this moment."""
    held = box.warm_memory_bytes()
    return tuple(
        ForkServer(
            name=one["name"],
            up=one["up"],
            waiting=one["waiting"],
            memory_bytes=held.get(one["name"]),
            reason=one["reason"] or None,
        )
        for one in box.warmth
    )
