"""Which kind of meter this machine gives, and a new one for each run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.confine import cgroup, watch

if TYPE_CHECKING:
    from sandbox.meter import Meter


class Meters:
    """Control groups where they can be made, else the watch. ``reason`` says why it is the watch."""

    def __init__(self, parent: str | None) -> None:
        found = cgroup.probe(parent)
        self._hierarchy = found if isinstance(found, cgroup.Hierarchy) else None
        self.kind = self._hierarchy.kind if self._hierarchy else "watch"
        self.reason = found.reason if isinstance(found, cgroup.Unavailable) else ""
        if self._hierarchy:
            self._hierarchy.sweep()  # what services that were killed left

    def new(self) -> Meter:
        """Give a meter that nothing has entered and that bounds nothing yet. Raises SetupError."""
        if self._hierarchy is None:
            return watch.Watch()
        return self._hierarchy.create(self._hierarchy.fresh())

    def close(self) -> None:
        """Let go of the hierarchy."""
        if self._hierarchy:
            self._hierarchy.close()
