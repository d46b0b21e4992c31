"""Hold back warnings that reading somebody else's text or modules would print, or raise under strict filters."""

from __future__ import annotations

import _thread
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Filters belong to the process: two threads changing them at once would leave one's change behind for good.
_FILTERS = _thread.RLock()


@contextmanager
def no_warnings() -> Iterator[None]:
    """Ignore warnings inside, and leave filters and formatting as they were."""
    with _FILTERS, warnings.catch_warnings():
        formatter = warnings.formatwarning
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            warnings.formatwarning = formatter
