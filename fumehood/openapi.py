"""The description that ``/openapi.json`` gives.

Bodies are read by hand (under a limit, in strict JSON), so their schemas, the security schemes and the problems are
put in here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from fumehood.problems import MEDIA_TYPE, Kind
from fumehood.schemas import AnalyzeRequest, BatchRequest, ExecuteRequest
from fumehood.stream import NDJSON

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pydantic import BaseModel

    from fumehood.schemas import Wire

_REF = "#/components/schemas/{model}"
_PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "RFC 9457. 422 has `errors`, one for each wrong field.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "enum": [f"urn:fumehood:problem:{kind.value.slug}" for kind in Kind]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "detail"],
                "properties": {"path": {"type": "string"}, "detail": {"type": "string"}},
            },
        },
    },
}
_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_ANY = {Kind.FOREIGN_HOST, Kind.FOREIGN_ORIGIN, Kind.INTERNAL_ERROR}
_KEYED = {*_ANY, Kind.UNAUTHORIZED}
_BODY = {
    *_KEYED,
    Kind.REQUEST_TIMEOUT,
    Kind.RATE_LIMITED,
    Kind.STOPPING,
    Kind.RECORDS_BEHIND,
    Kind.UNSUPPORTED_MEDIA_TYPE,
    Kind.BODY_TOO_LARGE,
    Kind.INVALID_REQUEST,
    Kind.QUEUE_FULL,
}
_RUN = {
    *_BODY,
    Kind.OVER_CEILING,
    Kind.DUPLICATE_ID,
    Kind.NOT_ALLOWED,
    Kind.NOT_BUILT,
    Kind.LAYER_MISSING,
    Kind.CALL_UNDER_WAY,
    Kind.CALL_LOST,
    Kind.KEY_REUSED,
    Kind.TOO_MANY_KEPT,
}
_PROBLEMS: dict[str, set[Kind]] = {
    "/v1/execute": {*_RUN, Kind.SETUP_FAILED},
    "/v1/execute/batch": _RUN,
    "/v1/executions": {*_KEYED, Kind.INVALID_REQUEST, Kind.NOT_ALLOWED},
    "/v1/executions/{run_id}": {*_KEYED, Kind.UNKNOWN_RECORD},
    "/v1/executions/{run_id}/cancel": {*_KEYED, Kind.UNKNOWN_EXECUTION, Kind.UNSUPPORTED_MEDIA_TYPE},
    "/v1/analyze": _BODY,
    "/healthz": _ANY,
    "/readyz": {*_ANY, Kind.NOT_READY, Kind.STOPPING, Kind.RECORDS_BEHIND},
    "/v1/capabilities": _KEYED,
    "/metrics": _KEYED,
}


_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string", "minLength": 1},
    "description": "The same call with the same key is answered again and not run again.",
}


def takes(model: type[Wire], *, once: bool = False) -> dict[str, Any]:
    """For a route's ``openapi_extra``: its body is this model; ``once``: it may come with an Idempotency-Key."""
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        **({"parameters": [_IDEMPOTENCY_KEY]} if once else {}),
    }


def asks(model: type[BaseModel]) -> dict[str, Any]:
    """For a route's ``openapi_extra``: its query has these parameters."""
    properties = model.model_json_schema()["properties"]
    return {"parameters": [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]}


def install(app: FastAPI) -> None:
    """Make ``app.openapi()`` tell the whole surface."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(get_openapi(title=app.title, version=app.version, routes=app.routes))
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign] # FastAPI's own documented way


def _complete(document: dict[str, Any]) -> dict[str, Any]:
    _, requests = models_json_schema(
        [(model, "validation") for model in (ExecuteRequest, BatchRequest, AnalyzeRequest)], ref_template=_REF
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):  # the framework's own, never sent
        schemas.pop(name, None)
    schemas |= requests["$defs"]
    schemas["Problem"] = _PROBLEM
    schemas["InPlace"]["properties"]["problem"] = {"$ref": _REF.format(model="Problem")}
    lines = {"anyOf": [{"$ref": _REF.format(model=model)} for model in ("ExecuteResponse", "InPlace")]}
    batch = document["paths"]["/v1/execute/batch"]["post"]["responses"]["200"]["content"]
    batch[NDJSON] = {"schema": {**lines, "description": "each line"}}
    components["securitySchemes"] = _SECURITY_SCHEMES
    for path, kinds in _PROBLEMS.items():
        if path not in document["paths"]:  # switched off by a setting
            continue
        for operation in document["paths"][path].values():
            operation["responses"].pop("422", None)
            operation["responses"] |= _responses(kinds)
            operation["security"] = [{scheme: []} for scheme in _SECURITY_SCHEMES] if Kind.UNAUTHORIZED in kinds else []
    return document


def _responses(kinds: set[Kind]) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    titles: dict[str, list[str]] = {}
    for kind in sorted(kinds, key=lambda kind: kind.value.slug):
        titles.setdefault(str(kind.value.status), []).append(kind.value.title)
    return {status: {"description": "; or: ".join(words), "content": content} for status, words in titles.items()}
