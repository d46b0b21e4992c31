"""Read untrusted code without running it: findings, their severity, and a verdict for a gate."""

from analyzers.analyze import analyze, language_named, languages, pages
from analyzers.model import (
    Confidence,
    Edit,
    Finding,
    Fix,
    Parse,
    ParseError,
    Report,
    Severity,
    Span,
    UnknownLanguageError,
    Verdict,
)

__all__ = [
    "Confidence",
    "Edit",
    "Finding",
    "Fix",
    "Parse",
    "ParseError",
    "Report",
    "Severity",
    "Span",
    "UnknownLanguageError",
    "Verdict",
    "analyze",
    "language_named",
    "languages",
    "pages",
]
