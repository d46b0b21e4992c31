"""The log: what every line holds, how it is written, and what may never stand in it.

Modules log through the standard library, with facts as ``extra``; only this one knows how a line is written. A line
never holds what a caller or a guest wrote. Messages of exceptions are where such text would slip in, as a ValueError
quotes the value, so they are told only for the kinds that are known to speak of this machine, and else left out.
"""

from __future__ import annotations

import contextlib
import logging
import logging.config
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from typing import Any, TextIO

import structlog
from opentelemetry import trace

from fumehood.telemetry.settings import Log, LogFormat, LogLevel
from sandbox import LayerMissing, SetupError

_OURS = ("fumehood", "sandbox", "analyzers")
_QUIET = "WARNING"
_TELLING = (SetupError, LayerMissing, OSError)
"""Exceptions whose messages are about this machine, never about what a caller sent."""
_LEFT_OUT = "(its text may quote a caller; log.level = debug shows it)"
_MOST_CHAINED = 8

_Line = MutableMapping[str, Any]


def configure(chosen: Log, stream: TextIO | None = None) -> None:
    """Have every logger of this process write to ``stream``, standard error by default, as the operator chose."""
    stream = stream or sys.stderr
    level = chosen.level.upper()
    tell_all = chosen.level is LogLevel.DEBUG

    def tell_exception(_logger: object, _method: str, line: _Line) -> _Line:
        error = line.pop("exc_info", None)
        error = error[1] if isinstance(error, tuple) else error
        if isinstance(error, BaseException):
            line["exception"] = exception_text(error, tell_all=tell_all)
        return line

    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": [
            structlog.contextvars.merge_contextvars,
            _add_trace,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            tell_exception,
            _renderer(chosen, stream),
        ],
        "keep_exc_info": False,
        "keep_stack_info": False,
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": formatter},
            "handlers": {"line": {"class": "logging.StreamHandler", "formatter": "line", "stream": stream}},
            "root": {"level": _QUIET, "handlers": ["line"]},
            "loggers": {name: {"level": level} for name in _OURS},
        }
    )
    logging.captureWarnings(capture=True)


@contextlib.contextmanager
def bound(**facts: object) -> Iterator[None]:
    """Have every line from inside the block, and from threads that take its context along, hold these facts."""
    with structlog.contextvars.bound_contextvars(**facts):
        yield


def exception_text(error: BaseException, *, tell_all: bool = False) -> str:
    """A traceback in Python's form, its causes first, without the texts that may quote a caller."""
    parts: list[str] = []
    following: BaseException | None = error
    while following is not None and len(parts) < _MOST_CHAINED:
        frames = "".join(traceback.format_tb(following.__traceback__))
        kind = type(following)
        told = str(following) if tell_all or isinstance(following, _TELLING) else _LEFT_OUT
        parts.append(f"Traceback (most recent call last):\n{frames}{kind.__module__}.{kind.__qualname__}: {told}")
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
    return "\n\nwhich led to\n\n".join(reversed(parts))


def _add_trace(_logger: object, _method: str, line: _Line) -> _Line:
    """Name the trace, where there is one, so that a line leads to it."""
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        line["trace_id"] = trace.format_trace_id(context.trace_id)
        line["span_id"] = trace.format_span_id(context.span_id)
    return line


def _renderer(chosen: Log, stream: TextIO) -> structlog.typing.Processor:
    if chosen.format is LogFormat.JSON:
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback)
