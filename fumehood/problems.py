"""Every way a call can fail, as an RFC 9457 problem with a stable ``type``. A guest's failure is none of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import sandbox

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

    from fumehood.admission import QueueFullError

MEDIA_TYPE = "application/problem+json"
_URN = "urn:fumehood:problem:"
_MOST_ERRORS = 50
_LONGEST_PATH = 200


@dataclass(frozen=True, slots=True)
class _Kind:
    slug: str
    status: int
    title: str


class Kind(Enum):
    """The closed set of problems: the last part of the ``type`` URI, the HTTP status and the title."""

    INVALID_REQUEST = _Kind("invalid-request", 422, "The request is not valid")
    OVER_CEILING = _Kind("over-ceiling", 422, "A limit is outside what this service allows")
    NOT_BUILT = _Kind("not-built", 501, "This version cannot enforce what was asked for")
    UNAUTHORIZED = _Kind("unauthorized", 401, "A valid API key is needed")
    NOT_ALLOWED = _Kind("not-allowed", 403, "This key may not do that")
    FOREIGN_ORIGIN = _Kind("foreign-origin", 403, "A page of another origin may not call this service")
    FOREIGN_HOST = _Kind("foreign-host", 421, "This service does not answer to that host name")
    NOT_FOUND = _Kind("not-found", 404, "There is nothing at this path")
    UNKNOWN_EXECUTION = _Kind("unknown-execution", 404, "No run of that id is in flight")
    UNKNOWN_RECORD = _Kind("unknown-record", 404, "No execution of that id is on record")
    METHOD_NOT_ALLOWED = _Kind("method-not-allowed", 405, "This path does not take that method")
    DUPLICATE_ID = _Kind("duplicate-id", 409, "A run of that id is in flight")
    CALL_UNDER_WAY = _Kind("call-under-way", 409, "A call with that Idempotency-Key is under way")
    CALL_LOST = _Kind("call-lost", 409, "The answer to the call with that Idempotency-Key is lost")
    KEY_REUSED = _Kind("key-reused", 422, "That Idempotency-Key came with another request before")
    MALFORMED = _Kind("malformed", 400, "That is no HTTP request")
    HEAD_TOO_LARGE = _Kind("head-too-large", 431, "The head is too large")
    REQUEST_TIMEOUT = _Kind("request-timeout", 408, "The request took too long to arrive")
    BODY_TOO_LARGE = _Kind("body-too-large", 413, "The body is too large")
    UNSUPPORTED_MEDIA_TYPE = _Kind("unsupported-media-type", 415, "The body must be application/json")
    QUEUE_FULL = _Kind("queue-full", 429, "Too many calls are waiting")
    RATE_LIMITED = _Kind("rate-limited", 429, "This key has started too many runs")
    TOO_MANY_KEPT = _Kind("too-many-kept", 429, "Too many answers are kept for this key's idempotent calls")
    INTERNAL_ERROR = _Kind("internal-error", 500, "The service failed")
    SETUP_FAILED = _Kind("setup-failed", 500, "A step of building the sandbox failed")
    LAYER_MISSING = _Kind("layer-missing", 503, "A required layer cannot be had on this machine")
    STOPPING = _Kind("stopping", 503, "The service is stopping")
    RECORDS_BEHIND = _Kind("records-behind", 503, "What runs cannot be recorded at the moment")
    NOT_READY = _Kind("not-ready", 503, "A promised layer did not hold")


class Problem(Exception):
    """A call that failed. ``extra`` holds further members, such as ``errors``."""

    def __init__(self, kind: Kind, detail: str, *, headers: Mapping[str, str] | None = None, **extra: object) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.extra: dict[str, Any] = extra

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.kind.value.status

    def document(self) -> dict[str, Any]:
        """The problem as its JSON object."""
        kind = self.kind.value
        return {
            "type": _URN + kind.slug,
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail,
            **self.extra,
        }

    def below(self, path: str) -> Problem:
        """The same problem with fields that lie below ``path`` of the request."""
        if "errors" not in self.extra:
            return self
        errors = [{**error, "path": f"{path}.{error['path']}".rstrip(".")} for error in self.extra["errors"]]
        return Problem(self.kind, f"{path}.{self.detail}", headers=self.headers, **{**self.extra, "errors": errors})

    def in_place(self) -> str:
        """The problem as the JSON that stands in the place of a run's result."""
        return json.dumps({"problem": self.document()}, ensure_ascii=True)

    def body(self) -> bytes:
        """The problem as its JSON text."""
        return json.dumps(self.document(), ensure_ascii=True).encode()


def at_field(kind: Kind, path: str, detail: str) -> Problem:
    """A problem with one field; ``path`` is dotted, such as ``limits.wall_seconds``."""
    return Problem(kind, f"{path}: {detail}" if path else detail, errors=[{"path": path, "detail": detail}])


def from_validation(wrong: ValidationError) -> Problem:
    """The wrong fields of a request, by their paths; where there are very many, the first of them."""
    found = wrong.errors(include_url=False, include_input=False, include_context=False)
    errors = [
        {
            "path": ".".join(str(part) for part in error["loc"] if part != "[key]")[:_LONGEST_PATH],
            "detail": _words(error["type"], error["msg"]),
        }
        for error in found[:_MOST_ERRORS]
    ]
    first = errors[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    detail = f"{first['path']}: {first['detail']}{more}" if first["path"] else first["detail"] + more
    return Problem(Kind.INVALID_REQUEST, detail, errors=errors)


def from_engine(error: sandbox.SandboxError) -> Problem:
    """What the engine raised, told to the caller: whose fault it is decides the status."""
    match error:
        case sandbox.OverCeiling():
            return at_field(Kind.OVER_CEILING, error.field, error.reason)
        case sandbox.NotBuilt():
            return at_field(Kind.NOT_BUILT, error.field, error.reason)
        case sandbox.JobRefused():
            return at_field(Kind.INVALID_REQUEST, error.field, error.reason)
        case sandbox.LayerMissing():
            return Problem(Kind.LAYER_MISSING, str(error), layer=error.layer, remedy=error.remedy)
        case sandbox.SetupError():
            return Problem(Kind.SETUP_FAILED, str(error), step=error.step, errno=error.errno)
        case _:
            return Problem(Kind.INTERNAL_ERROR, str(error))


def from_full_queue(full: QueueFullError) -> Problem:
    """No place in line; the caller is told when to try again."""
    return Problem(Kind.QUEUE_FULL, str(full), headers={"Retry-After": str(full.retry_after_seconds)})


def _words(kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return "unknown field"
    if kind == "missing":
        return "required"
    return message.removeprefix("Value error, ")
