"""Take down what a run held on the host, after its answer is given: no caller waits for the kernel's clearing up."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time

_MOST_WAITING = 16
_GRACE_SECONDS = 0.002
"""For the answer to be on its way: taking down, and the making of what follows, wants the same processors and locks."""
_log = logging.getLogger(__name__)


class Undertaker:
    """Closes scopes in a thread of its own, in the order in which they came."""

    def __init__(self) -> None:
        self._scopes: queue.SimpleQueue[tuple[contextlib.ExitStack, float] | None] = queue.SimpleQueue()
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="sandbox-undertaker", daemon=True)
        self._thread.start()

    def take(self, scope: contextlib.ExitStack) -> None:
        """Close the scope soon; or now, where so many wait that whoever brings one had better help."""
        if self._closing or self._scopes.qsize() >= _MOST_WAITING:
            _close(scope)
        else:
            self._scopes.put((scope, time.monotonic() + _GRACE_SECONDS))

    def close(self) -> None:
        """Finish what was taken; what comes later is closed by who brings it."""
        self._closing = True
        self._scopes.put(None)
        self._thread.join()
        while not self._scopes.empty():  # came between the two lines above
            left = self._scopes.get()
            if left is not None:
                _close(left[0])

    def _serve(self) -> None:
        while (taken := self._scopes.get()) is not None:
            scope, due = taken
            if not self._closing:
                time.sleep(max(due - time.monotonic(), 0.0))
            _close(scope)


def _close(scope: contextlib.ExitStack) -> None:
    try:
        scope.close()
    except Exception:  # noqa: BLE001 - whatever it is, the next scope must be closed too
        _log.exception("something of a run that is over could not be taken down")
