"""Take up a changed settings file while we serve: the fork servers' imports, and nothing else.

Everything else is read in many places that hold to what they were given, so it waits for the next start, and the log
says so.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from fumehood.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fumehood.settings import Settings
    from sandbox import Preload

_log = logging.getLogger("fumehood.reload")


class Reload:
    """Reads the settings again when it is asked to, in a thread of its own; once at a time."""

    def __init__(
        self, chosen: Settings, load: Callable[[], Settings], preload: Callable[[Sequence[Preload]], None]
    ) -> None:
        self._chosen = chosen
        self._load = load
        self._preload = preload
        self._working = threading.Lock()

    def ask(self) -> None:
        """Begin. Safe in a signal handler."""
        threading.Thread(target=self.work, name="reload", daemon=True).start()

    def work(self) -> None:
        """Read, take what may change, and say what may not. Settings that are wrong change nothing."""
        with self._working:
            try:
                fresh = self._load()
            except SettingsError as wrong:
                _log.error("the settings were not read again: %s", wrong)
                return
            self._preload(fresh.engine().warm.preloads)
            later = _differing(self._chosen, fresh)
            if later:
                _log.warning("settings that count from the next start", extra={"settings": later})
            _log.info("fork servers are kept", extra={"preloads": list(fresh.warm.preloads)})


def _differing(before: Settings, after: Settings) -> list[str]:
    """The names of the settings that differ, but that of the preloads."""
    old, new = _told(before), _told(after)
    return [name for name in old if old[name] != new[name]]


def _told(settings: Settings) -> dict[str, object]:
    values = {name: value for name, value in settings if name != "warm"}
    return values | {f"warm.{name}": value for name, value in settings.warm if name != "preloads"}
