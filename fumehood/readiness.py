"""Is this service able to do what it promises: a real snippet is run, and every promised layer must have held."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from fumehood.capabilities import fork_servers
from fumehood.problems import Kind, Problem
from fumehood.responses import Check, Ready
from fumehood.threads import started

if TYPE_CHECKING:
    from collections.abc import Callable

    from fumehood.executions import Box
    from sandbox.selfcheck import Finding

FRESH_SECONDS = 5.0
"""An answer is given again for this long: ``/readyz`` needs no key, and must not be a way to keep a machine busy."""


class Readiness:
    """Runs the probe in a thread of its own, one at a time, however many ask."""

    def __init__(self, box: Box, probe: Callable[[], tuple[Finding, ...]]) -> None:
        self._box = box
        self._probe = probe
        self._thread = started(1, "ready")
        self._one_at_a_time = asyncio.Lock()
        self._findings: tuple[Finding, ...] = ()
        self._looked = float("-inf")

    async def answer(self) -> Ready:
        """What the last probe found, or a new one if that is older than :data:`FRESH_SECONDS`.

        Raises:
            Problem: 503 with the same members, where a required layer did not hold.
        """
        async with self._one_at_a_time:
            if time.monotonic() - self._looked > FRESH_SECONDS:
                self._findings = await asyncio.get_running_loop().run_in_executor(self._thread, self._probe)
                self._looked = time.monotonic()
        failed = [finding.name for finding in self._findings if finding.required and not finding.held]
        answer = Ready(
            ready=not failed,
            layers=self._box.layers,
            lacking=self._box.lacking,
            fork_servers=fork_servers(self._box),
            checks=tuple(
                Check(name=finding.name, layer=finding.layer, held=finding.held, required=finding.required)
                for finding in self._findings
            ),
        )
        if failed:
            raise Problem(Kind.NOT_READY, f"did not hold: {', '.join(failed)}", **answer.model_dump(mode="json"))
        return answer

    @property
    def held(self) -> bool | None:
        """Whether every required layer held when the last probe looked; None before anybody asked."""
        return all(finding.held or not finding.required for finding in self._findings) if self._findings else None

    def close(self) -> None:
        """Wait for a probe under way."""
        self._thread.shutdown(wait=True)
