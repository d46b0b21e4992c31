"""What a report repeats of the text: the code of a finding, the line around it, and a mark by which it is known again.

All of it goes through the masker first, so that no secret is quoted and none can be guessed from a fingerprint.
"""

from __future__ import annotations

from binascii import crc32
from collections import Counter

from analyzers.masking import Masker
from analyzers.model import Quote, Span
from analyzers.source import Source

_MOST_SNIPPET = 200
_AROUND = 100
"""So many characters before a finding, and from its start, are shown and remembered: a line may be megabytes long."""


class Quoter:
    """Quotes one source."""

    def __init__(self, source: Source, masker: Masker) -> None:
        self._source = source
        self._masker = masker
        self._known: Counter[str] = Counter()

    def snippet(self, span: Span) -> str:
        """Give the code of a finding as far as its first line goes."""
        start, end = self._source.offsets(span)
        text = self._quoted(start, min(end, self._line(span)[1]))
        return text if len(text) <= _MOST_SNIPPET else text[:_MOST_SNIPPET] + "…"

    def quote(self, span: Span) -> Quote:
        """Give the first line of a finding, or what is around it where the line is long."""
        first, last = self._line(span)
        start, end = self._source.offsets(span)
        from_, to = max(first, start - _AROUND), min(last, start + _AROUND)
        before = self._quoted(from_, start)
        marked = self._quoted(start, max(start, min(end, to)))
        after = self._quoted(max(start, min(end, to)), to)
        return Quote(
            ("…" if from_ > first else "") + before + marked + after + ("…" if to < last else ""),
            len(before) + (from_ > first),
            len(before) + (from_ > first) + len(marked),
        )

    def fingerprint(self, rule: str, quote: Quote) -> str:
        """Give 16 hexadecimal digits that stay when lines move: of the rule, its line, and how often both came before.

        Asked for in the order of the text. A checksum, not a digest: it tells findings apart and proves nothing.
        """
        same = f"{rule} {' '.join(quote.text.split())}"
        number = self._known[same]
        self._known[same] += 1
        raw = f"{same} {number}".encode("utf-8", "replace")
        return f"{crc32(raw):08x}{crc32(raw[::-1], len(raw)):08x}"

    def _quoted(self, start: int, end: int) -> str:
        """Quote with the masker; half of a surrogate pair could not be sent, and is shown as a question mark."""
        text = self._masker.quote(start, end)
        return text if text.isascii() else text.encode("utf-8", "replace").decode()

    def _line(self, span: Span) -> tuple[int, int]:
        first = self._source.offset(span.line, 1)
        return first, first + len(self._source.lines[span.line - 1])
