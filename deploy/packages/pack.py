"""Pack a list of the most downloaded PyPI packages for the analyser: one name a line, the most downloaded first.

    python deploy/packages/pack.py NAMES.tsv analyzers/pypi.zlib

A line of NAMES.tsv is a name and, behind a tab, the month of its newest release (or nothing). What is written begins
with the newest of those months: the list is at least as old as that. The same input gives the same bytes.
"""

from __future__ import annotations

import re
import sys
import zlib
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_MONTH = re.compile(r"\d{4}-\d{2}")


def pack(text: str) -> bytes:
    """Return the compressed list. Raises ValueError for a line that is none, or a list without any month."""
    names: dict[str, None] = {}
    months = []
    for line in text.splitlines():
        name, _, month = line.partition("\t")
        if not _NAME.fullmatch(name) or (month and not _MONTH.fullmatch(month)):
            raise ValueError(f"not a package and a month: {line[:80]!r}")
        # As PEP 503 has it, so that one package has one name.
        names[re.sub(r"[-_.]+", "-", name).lower()] = None
        if month:
            months.append(month)
    if not months:
        raise ValueError("no line has a month")
    return zlib.compress("\n".join([max(months), *names]).encode(), 9)


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(pack(Path(sys.argv[1]).read_text(encoding="utf-8")))
