"""What this service can do, on this machine, under these settings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from analyzers import languages
from fumehood import __version__
from fumehood.responses import AnalysisOffer, Capabilities, FilesRange, ForkServer, LimitsOut, LimitsRange, RuntimeOut
from fumehood.schemas import LimitsIn
from sandbox import Limits, NetworkKind

if TYPE_CHECKING:
    from fumehood.executions import Box
    from fumehood.settings import Settings


def describe(box: Box, settings: Settings) -> Capabilities:
    """The answer of ``/v1/capabilities``."""
    return Capabilities(
        version=__version__,
        runtimes=tuple(
            RuntimeOut(
                name=one.name,
                aliases=one.aliases,
                version=one.version,
                packages=dict(one.packages),
                limits=LimitsOut(**asdict(LimitsIn().under(box.ceilings, one.limits))),
            )
            for one in box.runtimes.values()
        ),
        limits=LimitsRange(
            defaults=LimitsOut(**asdict(LimitsIn().under(box.ceilings, Limits()))),
            ceilings=LimitsOut(**asdict(box.ceilings)),
        ),
        files=FilesRange(
            files_in=settings.files_in,
            files_in_bytes=settings.files_in_bytes,
            files_out=settings.files_out,
            files_out_bytes=settings.files_out_bytes,
        ),
        body_bytes=settings.body_bytes,
        networks=(NetworkKind.NONE,),
        analysis=AnalysisOffer(languages=languages()),
        concurrency=settings.concurrency,
        queue=settings.queue,
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
