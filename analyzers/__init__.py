"""Read untrusted code without running it: findings, their severity, and a verdict for a gate."""

from analyzers.analyze import analyze, pages
from analyzers.choice import Choice
from analyzers.languages import engines, engines_named, language_named, languages
from analyzers.model import (
    Applied,
    Confidence,
    Edit,
    Finding,
    Fix,
    Fixed,
    Parse,
    ParseError,
    Report,
    Severity,
    Span,
    UnknownEngineError,
    UnknownLanguageError,
    Verdict,
)

__all__ = [
    "Applied",
    "Choice",
    "Confidence",
    "Edit",
    "Finding",
    "Fix",
    "Fixed",
    "Parse",
    "ParseError",
    "Report",
    "Severity",
    "Span",
    "UnknownEngineError",
    "UnknownLanguageError",
    "Verdict",
    "analyze",
    "engines",
    "engines_named",
    "language_named",
    "languages",
    "pages",
]
