"""Take down what a run held on the host, after its answer is given: no caller waits for the kernel's clearing up."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading

_MOST_WAITING = 16
_log = logging.getLogger(__name__)


class Undertaker:
    """Closes scopes in a thread of its own, in the order in which they came."""

    def __init__(self) -> None:
        self._scopes: queue.SimpleQueue[contextlib.ExitStack | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="sandbox-undertaker", daemon=True)
        self._thread.start()

    def take(self, scope: contextlib.ExitStack) -> None:
        """Close the scope soon; or now, where so many wait that whoever brings one had better help."""
        if self._scopes.qsize() >= _MOST_WAITING:
            _close(scope)
        else:
            self._scopes.put(scope)

    def close(self) -> None:
        """Finish what was taken."""
        self._scopes.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (scope := self._scopes.get()) is not None:
            _close(scope)


def _close(scope: contextlib.ExitStack) -> None:
    try:
        scope.close()
    except Exception:  # noqa: BLE001 - whatever it is, the next scope must be closed too
        _log.exception("something of a run that is over could not be taken down")
