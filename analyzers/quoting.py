"""What a report repeats of the text: the code of a finding, the line around it, and a mark by which it is known again.

All of it goes through the masker first, so that no secret is quoted and none can be guessed from a fingerprint.
"""

from __future__ import annotations

from binascii import crc32

from analyzers.masking import Masker
from analyzers.model import Quote, Span
from analyzers.source import Source

_MOST_SNIPPET = 200
_AROUND = 100
"""So many characters before a finding, and from its start, are shown and remembered: a line may be megabytes long."""


def checksum(text: str) -> str:
    """Give 16 hexadecimal digits that tell texts apart."""
    raw = text.encode("utf-8", "replace")
    return f"{crc32(raw):08x}{crc32(raw[::-1], len(raw)):08x}"


class Quoter:
    """Quotes one source."""

    def __init__(self, source: Source, masker: Masker) -> None:
        self._source = source
        self._masker = masker
        self._known: dict[str, int] = {}

    def quoted(self, span: Span) -> tuple[str, Quote]:
        """Give the code of a finding as far as its first line goes, and that line.

        Of a long line only what is around the finding is given.
        """
        source = self._source
        line = source.lines[span.line - 1]
        first = source.starts[span.line - 1]
        start, last = first + span.column - 1, first + len(line)
        end = first + span.end_column - 1 if span.end_line == span.line else last
        if last - first <= _AROUND and not self._masker.hides(first, last) and line.isascii():
            # As nearly every line: nothing is left out of it or blotted out.
            at, to = span.column - 1, end - first
            return line[at:to], Quote(line, at, to)
        from_, to = max(first, start - _AROUND), min(last, start + _AROUND)
        snippet = self._text(start, end)
        before = self._text(from_, start)
        inner = max(start, min(end, to))
        marked = snippet if inner == end else self._text(start, inner)
        after = self._text(inner, to)
        ahead = "…" if from_ > first else ""
        at = len(ahead) + len(before)
        shown = f"{ahead}{before}{marked}{after}{'…' if to < last else ''}"
        if len(snippet) > _MOST_SNIPPET:
            snippet = f"{snippet[:_MOST_SNIPPET]}…"
        return snippet, Quote(shown, at, at + len(marked))

    def fingerprint(self, rule: str, quote: Quote) -> str:
        """Give 16 hexadecimal digits that stay when lines move: of the rule, its line, and how often both came before.

        Asked for in the order of the text. A checksum, not a digest: it tells findings apart and proves nothing.
        """
        same = f"{rule} {' '.join(quote.text.split())}"
        number = self._known.get(same, 0)
        self._known[same] = number + 1
        return checksum(f"{same} {number}")

    def _text(self, start: int, end: int) -> str:
        """Quote with the masker; half of a surrogate pair could not be sent, and is shown as a question mark."""
        text = self._masker.quote(start, end)
        return text if text.isascii() else text.encode("utf-8", "replace").decode()
