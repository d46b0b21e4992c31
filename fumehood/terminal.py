"""Whether what we print may be coloured. Where colour was not asked for, the reader's terminal and wishes decide."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def wants_color(stream: TextIO, asked: str) -> bool:
    """Decide for ``auto``, ``always`` or ``never``. ``NO_COLOR`` (https://no-color.org) counts, set to anything."""
    if asked != "auto":
        return asked == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return stream.isatty() and os.environ.get("TERM") != "dumb"
