"""What holds of any call that the OpenAPI document allows, or that is damaged from one that it does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import schemathesis
from hypothesis import given
from schemathesis.specs.openapi import checks
from serving import serving

from fumehood.settings import Settings

_CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@contextlib.contextmanager
def properties() -> Iterator[tuple[Callable[[], None], ...]]:
    """Give one property for each operation and kind of data, of a service that is there until the block ends.

    It stands over an engine and an analyser that do nothing: what is tried is the face.
    """
    with serving(Settings(port=0, concurrency=4, shutdown_grace_seconds=0.2)) as live:
        document = schemathesis.openapi.from_url(f"{live.address}/openapi.json")
        operations = [each.ok() for each in document.get_all_operations()]
        yield tuple(
            _property(operation, mode)
            for operation in operations
            for mode in schemathesis.GenerationMode
            if mode is schemathesis.GenerationMode.POSITIVE or _takes_something(operation)
        )


def _takes_something(operation: Any) -> bool:
    """Whether a call can be wrong: there is something to send."""
    return any(map(len, (operation.body, operation.query, operation.path_parameters)))


def _property(operation: Any, mode: schemathesis.GenerationMode) -> Callable[[], None]:
    @given(operation.as_strategy(generation_mode=mode))
    def every_answer_is_as_documented(case: Any) -> None:
        case.call_and_validate(checks=_CHECKS)

    every_answer_is_as_documented.__name__ = f"{operation.label} {mode.value}"
    return every_answer_is_as_documented
