"""Text as a Python file would be read: decoded, newlines made one, and every way of counting places in it.

A snippet given as ``str`` is treated as its UTF-8 bytes, exactly as it would be run: a coding cookie can therefore
not show the analyser one program and the interpreter another.
"""

from __future__ import annotations

import codecs
import io
from bisect import bisect_right
from functools import cached_property

from analyzers import secrets
from analyzers.model import Span
from analyzers.patterns import lazy

_BOM = "\ufeff"
_CHECKPOINT = 4096
_CONTINUATION = bytes(range(0x80, 0xC0))
_NEWLINE = lazy(r"\r\n?")


class UndecodableError(ValueError):
    """The bytes are not text in the encoding they claim; the text says why."""


class Source:
    """The text of one file with line feeds for line ends, and its places."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends. Only a line feed ends one, as for the parser; form feed and U+2028 do not."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Where in the text each line starts."""
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line) + 1
        return starts

    @cached_property
    def secrets(self) -> list[secrets.Secret]:
        """What is a secret by its own shape, wherever it stands."""
        return secrets.find(self.text)

    @cached_property
    def _is_ascii(self) -> bool:
        return self.text.isascii()

    @cached_property
    def _byte_columns(self) -> dict[int, _ByteColumns | None]:
        return {}

    def column(self, line: int, byte_column: int) -> int:
        """Turn the parser's place in a line (UTF-8 bytes from 0) into characters from 1."""
        columns = self._byte_columns
        if line not in columns:
            text = self.lines[line - 1] if line <= len(self.lines) else ""
            columns[line] = None if text.isascii() else _ByteColumns(text)
        table = columns[line]
        return byte_column + 1 if table is None else table.characters(byte_column) + 1

    def span(self, line: int, byte_column: int, end_line: int, end_byte_column: int) -> Span:
        """Make a span of the parser's numbers."""
        if self._is_ascii:
            return Span(line, byte_column + 1, end_line, end_byte_column + 1)
        return Span(line, self.column(line, byte_column), end_line, self.column(end_line, end_byte_column))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a place in the text."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def between(self, start: int, end: int) -> Span:
        """Make a span of two places in the text."""
        return Span(*self.place(start), *self.place(end))

    def offsets(self, span: Span) -> tuple[int, int]:
        """Places in the text of both ends of a span."""
        return self.offset(span.line, span.column), self.offset(span.end_line, span.end_column)

    def offset(self, line: int, column: int) -> int:
        """Place in the text of a line and column, both from 1."""
        return self.starts[line - 1] + column - 1


class _ByteColumns:
    """Bytes to characters within one line, with a running count every so often: one line may be megabytes long."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-8", "surrogatepass")
        self._counts = [0]
        for at in range(0, len(self._bytes), _CHECKPOINT):
            self._counts.append(self._counts[-1] + _count(self._bytes[at : at + _CHECKPOINT]))

    def characters(self, byte_column: int) -> int:
        step = min(byte_column, len(self._bytes)) // _CHECKPOINT
        return self._counts[step] + _count(self._bytes[step * _CHECKPOINT : byte_column])


def _count(chunk: bytes) -> int:
    return len(chunk.translate(None, _CONTINUATION))


def read(code: str | bytes) -> tuple[Source, UndecodableError | None]:
    """Decode as the interpreter would. What cannot be decoded still comes back as some text, with the reason."""
    try:
        raw = code.encode() if isinstance(code, str) else code
    except UnicodeEncodeError as error:
        return _plain(code), UndecodableError(f"not text: {error.reason}")
    raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        encoding = _encoding(raw)
        if encoding not in {"utf-8", "utf-8-sig"}:
            text = _NEWLINE.sub("\n", raw.decode(encoding))
        else:
            text = raw.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError, ValueError) as error:
        return _plain(code), UndecodableError(str(error) or type(error).__name__)
    return Source(text.removeprefix(_BOM)), None


def _encoding(raw: bytes) -> str:
    """The encoding that the text says it has, as the interpreter sees it. Raises SyntaxError."""
    if b"coding" not in b"\n".join(raw.split(b"\n", 2)[:2]):
        return "utf-8-sig" if raw.startswith(codecs.BOM_UTF8) else "utf-8"
    from tokenize import detect_encoding  # noqa: PLC0415 - few texts say anything, and it costs a start

    return detect_encoding(io.BytesIO(raw).readline)[0]


def _plain(code: str | bytes) -> Source:
    text = code if isinstance(code, str) else code.decode("utf-8", "replace")
    return Source(_NEWLINE.sub("\n", text.removeprefix(_BOM)))
