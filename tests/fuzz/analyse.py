"""Coverage-guided fuzzing of the analysers by atheris, as a program of its own: ``analyse.py SEEDS [libFuzzer flags]``.

Its process is libFuzzer's, which ends it by itself. What is found is printed, and kept where ``-artifact_prefix`` says.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["analyzers"]):
    from analyzers import Severity, analyze, languages

    LANGUAGES = tuple(languages())
    for _language in LANGUAGES:  # what reads a language is imported, and so instrumented, when it is first needed
        analyze("x = 1\n", _language)


def one(data: bytes) -> None:
    """Analyse what follows the first byte, which says as what: nothing raises, and what is found lies in the text."""
    if not data:
        return
    choice, text = data[0], data[1:]
    language = LANGUAGES[choice % len(LANGUAGES)]
    code: str | bytes = text if choice & 0x80 else text.decode("utf-8", "surrogateescape")
    report = analyze(code, language, fixes=bool(choice & 0x40))
    assert report.total == sum(count for _, count in report.counts) >= len(report.findings)
    lines = 1 + sum(text.count(mark) for mark in (b"\n", b"\r", b"AAo", b"\\n"))
    for finding in report.findings:
        assert isinstance(finding.severity, Severity)
        assert 1 <= finding.span.line <= finding.span.end_line <= lines, finding
        assert finding.span.column >= 1


def main() -> None:
    """Fuzz until a flag says stop."""
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
