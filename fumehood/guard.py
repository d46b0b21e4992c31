"""What every HTTP call passes before it reaches an endpoint: request id, host, origin, key, content type.

A web page must not be able to run code on its reader's machine. Three walls stand against it: a page that points a
name of its own at this address (DNS rebinding) sends that name as ``Host``; a page that calls across origins sends
``Origin`` or ``Sec-Fetch-Site``; and a form cannot send ``application/json``.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from fumehood.auth import Caller, KeyRing, Origin, UnknownKeyError, presented_key
from fumehood.problems import MEDIA_TYPE, Kind, Problem
from fumehood.settings import is_loopback
from fumehood.telemetry.settings import MetricsAccess

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from fumehood.keyholder import KeyHolder
    from fumehood.rates import Rates
    from fumehood.settings import Settings

_log = logging.getLogger("fumehood.guard")

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
METRICS_PATH = "/metrics"
METRICS_READER = "metrics"
"""The caller's name where ``metrics.token`` was presented."""
_LONGEST_CLIENT = 64
_AUTHORITY = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/]+)")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


class Guard:
    """ASGI middleware. It answers what it refuses, and whatever an endpoint failed to answer."""

    def __init__(self, app: ASGIApp, settings: Settings, holder: KeyHolder, rates: Rates) -> None:
        self._app = app
        self._holder = holder
        self._rates = rates
        self._hosts = {host.lower().rstrip(".") for host in settings.allowed_hosts}
        self._bind = settings.host.lower()
        self._open_paths = OPEN_PATHS | ({METRICS_PATH} if settings.metrics.access is MetricsAccess.OPEN else set())
        token = settings.metrics.token
        self._metrics_keys = KeyRing([token.get_secret_value()] if token else [])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's call."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        request_id: str = scope["state"]["request_id"]
        started = False
        caller: Caller | None = None

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                rate = self._rates.headers(caller) if caller else []
                message = {**message, "headers": [*message["headers"], *rate, *_always(request_id.encode())]}
            await send(message)

        try:
            caller = await self._admit(scope, request_id)
            await self._app(scope, receive, answer)
        except Problem as problem:
            scope["state"]["problem"] = problem.kind.value.slug
            await _refuse(problem, answer)
        except ClientDisconnect:
            _log.info("the client left before its body was read")
        except Exception:
            _log.exception("request failed")
            if started:
                raise
            scope["state"]["problem"] = Kind.INTERNAL_ERROR.value.slug
            await _refuse(Problem(Kind.INTERNAL_ERROR, "the service's log has the request id and the reason"), answer)

    async def _admit(self, scope: Scope, request_id: str) -> Caller | None:
        """Raise the Problem this call is refused with, or note in the scope where it came from, and give its caller."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        host = self._check_host([value for name, value in headers if name == b"host"])
        _check_origin(dict(headers), host)
        presented = presented_key(headers)
        caller = None
        if scope["path"] == METRICS_PATH and self._may_read_metrics(presented):
            scope["state"]["caller"] = METRICS_READER
        elif scope["path"] not in self._open_paths:
            caller = await self._identify(presented)
            client = scope.get("client")
            origin = Origin(caller, request_id, str(client[0])[:_LONGEST_CLIENT] if client else None)
            scope["state"] |= {"caller": caller.name, "origin": origin}
        if scope["method"] == "POST":
            _check_content_type(dict(headers))
        return caller

    async def _identify(self, presented: bytes | None) -> Caller:
        try:
            return await self._holder.caller(presented)
        except UnknownKeyError as unknown:
            error = ', error="invalid_token"' if presented else ""
            raise Problem(
                Kind.UNAUTHORIZED,
                str(unknown),
                headers={"WWW-Authenticate": f'Bearer realm="fumehood"{error}'},
            ) from None

    def _may_read_metrics(self, presented: bytes | None) -> bool:
        if not self._metrics_keys.locked:
            return False
        try:
            self._metrics_keys.caller(presented)
        except UnknownKeyError:
            return False
        return True

    def _check_host(self, values: list[bytes]) -> str:
        """The Host header, if it names this service."""
        value = values[0].decode("latin-1") if len(values) == 1 else ""
        authority = _AUTHORITY.fullmatch(value)
        if authority is None or not self._is_ours(authority["name"].lower().rstrip(".")):
            raise Problem(Kind.FOREIGN_HOST, f"Host {value[:100]!r} is not served here; see the setting allowed_hosts")
        return value

    def _is_ours(self, name: str) -> bool:
        if is_loopback(name) or name in self._hosts:
            return True
        if not self._holder.ring.locked or is_loopback(self._bind):
            return False
        # Bound to the network, and a key is needed: an address is no name that a page's owner could rebind, and
        # health checks of orchestrators call by address.
        return "*" in self._hosts or name == self._bind or _is_address(name)


def _check_origin(headers: dict[bytes, bytes], host: str) -> None:
    site = headers.get(b"sec-fetch-site", b"none").decode("latin-1").strip().lower()
    if site not in {"same-origin", "none"}:
        raise Problem(Kind.FOREIGN_ORIGIN, f"Sec-Fetch-Site is {site[:40]!r}")
    if b"origin" not in headers:
        return
    origin = headers[b"origin"].decode("latin-1")
    parts = _ORIGIN.fullmatch(origin)
    if parts is None or _place(parts["authority"], parts["scheme"]) != _place(host, parts["scheme"]):
        raise Problem(Kind.FOREIGN_ORIGIN, f"Origin is {origin[:100]!r}")


def _place(authority: str, scheme: str) -> tuple[str, str] | None:
    """An authority as its name and port, the port filled in."""
    parts = _AUTHORITY.fullmatch(authority)
    return (parts["name"].lower().rstrip("."), parts["port"] or _DEFAULT_PORTS[scheme]) if parts else None


def _check_content_type(headers: dict[bytes, bytes]) -> None:
    """A body must say that it is JSON; a call without a body need not say anything."""
    if b"content-type" not in headers:
        if b"transfer-encoding" not in headers and headers.get(b"content-length", b"0") == b"0":
            return
        raise Problem(Kind.UNSUPPORTED_MEDIA_TYPE, "there is no Content-Type header")
    value = headers[b"content-type"].decode("latin-1")
    media_type, _, parameters = value.partition(";")
    charset = re.search(r"charset\s*=\s*\"?([^\s\";]+)", parameters, re.IGNORECASE)
    if media_type.strip().lower() != "application/json" or (charset and charset[1].lower() not in {"utf-8", "utf8"}):
        raise Problem(Kind.UNSUPPORTED_MEDIA_TYPE, f"Content-Type is {value[:100]!r}")
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Problem(Kind.UNSUPPORTED_MEDIA_TYPE, "a compressed body is not read")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _always(request_id: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (b"x-request-id", request_id),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
    ]


async def _refuse(problem: Problem, send: Send) -> None:
    body = problem.body()
    headers = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **problem.headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
