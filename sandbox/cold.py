"""A waiting child of its own for one run: a bwrap and an interpreter started for it alone."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence

from sandbox import host
from sandbox.errors import LayerMissing
from sandbox.guest import wire
from sandbox.model import Launcher
from sandbox.slots import Slots
from sandbox.starter import Starter
from sandbox.waiting import SETUP_SECONDS, Staging, Waiting


class Cold:
    """Starts a bwrap whose pid 1 is the run's init."""

    def __init__(self, argv: Sequence[str], starter: Starter, slots: Slots | None, staging: Staging) -> None:
        self._argv = argv
        self._starter = starter
        self._slots = slots
        self._staging = staging

    def prove(self) -> None:
        """Start what every run starts, without a job. Raises LayerMissing when this system refuses the namespaces."""
        with contextlib.ExitStack() as scope:
            uid = self._slots.lend(scope) if self._slots else None
            started = self._starter.start(scope, self._argv, uid)
            started.control.shutdown(socket.SHUT_WR)  # init finds no stage and ends without a word
            started.control.settimeout(SETUP_SECONDS)
            try:
                answered = started.control.recv(1) != b""
            except OSError:
                answered = True
            complaint = started.complaint()
            if answered or complaint:
                raise LayerMissing("user", complaint or "bwrap did not end", host.namespaces_remedy())

    def make(self) -> Waiting:
        """Give a child that has begun to get ready. Raises SetupError."""
        with contextlib.ExitStack() as scope:
            uid = self._slots.lend(scope) if self._slots else None
            started = self._starter.start(scope, self._argv, uid)

            def deliver(descriptors: Sequence[int]) -> None:
                wire.send_down(started.control, self._staging.stage, descriptors)

            return self._staging.begin(scope, started.control, deliver, started, uid, Launcher.COLD, {})
