"""From any text to a tree: as it is, mended, or as much of it as can be understood."""

from analyzers.python.reading.reading import Reading, read

__all__ = ["Reading", "read"]
