"""Rules about cookies, headers and origins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.program import Program
from analyzers.golang.scopes import Function
from analyzers.golang.seen import Call
from analyzers.golang.values import NETWORK
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_COOKIE = "net/http.Cookie"
_OPTIONS = "github.com/gorilla/sessions.Options"
_GIN_COOKIE_ARGUMENTS = 7


def open_cookie(program: Program) -> Iterator[Hit]:
    """A cookie is set without ``Secure``, ``HttpOnly`` or ``SameSite``.

    It then goes over unencrypted connections, is read by scripts, or is sent along by other sites' pages. A cookie that
    is deleted, or that a client sends, is not reported.
    """
    if not (b"Cookie" in program.data or b"sessions" in program.data):
        return
    sending = ".AddCookie" in program.by_name and "net/http.SetCookie" not in program.by_name
    for literal, _ in program.literals(_COOKIE, _OPTIONS) if not sending else ():
        fields = program.fields(literal)
        age = program.value(fields["MaxAge"]).constant if "MaxAge" in fields else 0
        if not fields or (isinstance(age, int) and age < 0):
            continue
        wanted = ("Secure", "HttpOnly", "SameSite") if "Value" in fields or "Name" in fields else ("Secure", "HttpOnly")
        missing = [name for name in wanted if _missing(program, literal, fields, name)]
        if missing:
            yield program.hit(literal, f"the cookie is set without {', '.join(missing)}")
    for call in program.calls(".SetCookie"):
        if len(call.arguments) == _GIN_COOKIE_ARGUMENTS:
            flags = zip(("Secure", "HttpOnly"), call.arguments[5:], strict=False)
            missing = [name for name, node in flags if program.value(node).constant is False]
            if missing:
                yield program.hit(call.node, f"the cookie is set without {', '.join(missing)}")


def _missing(program: Program, literal: Node, fields: dict[str, Node], name: str) -> bool:
    if name in fields:
        return program.value(fields[name]).constant is False or program.text(fields[name]).endswith("SameSiteNoneMode")
    return not any(one.start > literal.start_byte for one in program.seen.field_sets.get(name, ()))


def _headers(program: Program) -> Iterator[tuple[Call, str, Node]]:
    """Every header that is set or added: the call, its name in small letters, its value."""
    for call in program.calls(".Set", ".Add", ".Header"):
        if len(call.arguments) == 2:  # noqa: PLR2004 - name and value
            name = program.argument(call, 0).constant
            if isinstance(name, str):
                yield call, name.lower(), call.arguments[1]


def foreign_origin(program: Program) -> Iterator[Hit]:
    """Every site's pages may read the answers, with the user's cookies.

    The request's ``Origin`` is given back as it came, or ``*`` is allowed together with credentials. Compare the origin
    with a list of those that may.
    """
    if any(word in program.data for word in (b"Allow-Origin", b"AllowCredentials", b"CheckOrigin")):
        yield from _allowing_headers(program)
        for literal, _ in program.seen.literals:
            fields = program.fields(literal)
            if _allows_all(program, fields):
                yield program.hit(literal, "every site is allowed, with credentials")
            yield from _unchecked_upgrade(program, fields.get("CheckOrigin"))
        for one in program.seen.field_sets.get("CheckOrigin", ()):
            yield from _unchecked_upgrade(program, one.value)


def _allowing_headers(program: Program) -> Iterator[Hit]:
    everybody: list[Call] = []
    credentials = False
    for call, name, node in _headers(program):
        if name == "access-control-allow-origin":
            value = program.value(node)
            if value.from_outside("*", NETWORK) is not None and not _compared(program, call):
                yield program.hit(call.node, "any site that asks is allowed")
            elif value.constant == "*":
                everybody.append(call)
        credentials |= name == "access-control-allow-credentials" and program.value(node).constant in {"true", True}
    for call in everybody if credentials else ():
        yield program.hit(call.node, "every site is allowed, with credentials")


def _allows_all(program: Program, fields: dict[str, Node]) -> bool:
    if "AllowCredentials" not in fields or program.value(fields["AllowCredentials"]).constant is not True:
        return False
    wide = fields.get("AllowAllOrigins")
    listed = fields.get("AllowedOrigins") or fields.get("AllowOrigins")
    every = listed is not None and b'"*"' in program.raw(listed)
    return every or (wide is not None and program.value(wide).constant is True)


def _compared(program: Program, call: Call) -> bool:
    """Whether the function asks about the origin before it is given back."""
    function = call.scope.function
    start = function.start if function is not None else 0
    if not program.afford(len(program.seen.branches)):
        return True
    return any(start <= branch.node.start_byte < call.node.start_byte for branch in program.seen.branches)


def _unchecked_upgrade(program: Program, node: Node | None) -> Iterator[Hit]:
    function = _literal_function(program, node)
    returned = [program.raw(given) for given in function.returns] if function is not None else []
    if node is not None and returned and set(returned) == {b"true"}:
        yield program.hit(node, "pages of every site may open this websocket", confidence=Confidence.MEDIUM)


def _literal_function(program: Program, node: Node | None) -> Function | None:
    made = program.value(node).node if node is not None else None
    return program.seen.function_of.get(made.id) if made is not None else None


_WIDE = re.compile(r"^/?$|/\*+$|^/?\{[\w.]+\}$")


def origin_bypass(program: Program, call: Call) -> Iterator[Hit]:
    """Protection against requests from other sites is left off for all paths, or for those that a request names.

    Name the few exact paths that need it.
    """
    value = program.argument(call, 0)
    text = value.constant
    if value.from_outside("*", NETWORK) is not None or (isinstance(text, str) and _WIDE.search(text)):
        yield program.hit(call.node, "requests from other sites are let through")


_SENSITIVE = frozenset(
    {"authorization", "cookie", "proxy-authorization", "www-authenticate", "x-api-key", "x-auth-token"}
)


def redirected_headers(program: Program) -> Iterator[Hit]:
    """When a client is sent elsewhere it takes its credentials along.

    ``CheckRedirect`` copies headers to the next request, or sets an ``Authorization`` or ``Cookie``, whatever host that
    goes to. Set them only where the host is the same.
    """
    if b"CheckRedirect" not in program.data:
        return
    values = [
        fields["CheckRedirect"]
        for literal, _ in program.seen.literals
        if "CheckRedirect" in (fields := program.fields(literal))
    ]
    values += [one.value for one in program.seen.field_sets.get("CheckRedirect", ())]
    for value in values:
        function = _literal_function(program, value)
        if function is None or not function.parameters:
            continue
        request = function.parameters[0][0]
        if not program.afford(len(program.seen.calls)):
            return
        for one in program.seen.field_sets.get("Header", ()):
            if function.start <= one.start <= function.end and program.text(one.operand) == request:
                yield program.hit(one.node, "all headers are taken along to the next host")
        for call, name, _ in _headers(program):
            if function.start <= call.node.start_byte < function.end and name in _SENSITIVE:
                yield program.hit(call.node, f"{name} is sent to the next host as well")


def two_lengths(program: Program) -> Iterator[Hit]:
    """One answer has both ``Transfer-Encoding`` and ``Content-Length``.

    Servers on the way disagree on where it ends, and the rest is taken for another answer (request smuggling). Leave
    both to ``net/http``.
    """
    if b"ransfer-" not in program.data:
        return
    by_function: dict[int, dict[str, Call]] = {}
    for call, name, _ in _headers(program):
        if name in {"transfer-encoding", "content-length"}:
            function = call.scope.function
            by_function.setdefault(function.start if function is not None else 0, {})[name] = call
    for found in by_function.values():
        if len(found) > 1:
            yield program.hit(found["transfer-encoding"].node, "an answer has two lengths")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH845",
        name="go-open-cookie",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=614,
        check=open_cookie,
        also=("G124",),
        on=(b"Cookie", b"sessions."),
        hits=(
            'http.SetCookie(w, &http.Cookie{Name: "s", Value: v})\n',
            'c := http.Cookie{Name: "s", Value: v, Secure: false, HttpOnly: true, SameSite: http.SameSiteLaxMode}\n',
            'c.SetCookie("s", v, 60, "/", "h", false, true)\n',
        ),
        misses=(
            'c := &http.Cookie{Name: "s", Value: v, Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}\n',
            'http.SetCookie(w, &http.Cookie{Name: "s", MaxAge: -1})\n',
            'req.AddCookie(&http.Cookie{Name: "s", Value: v})\n',
            'c.SetCookie("s", v, 60, "/", "h", true, true)\n',
        ),
    ),
    Rule(
        id="FH846",
        name="go-foreign-origin",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=942,
        check=foreign_origin,
        on=(b"Allow-Origin", b"AllowCredentials", b"CheckOrigin"),
        hits=(
            (
                "func f(w http.ResponseWriter, r *http.Request) {\n"
                '\tw.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))\n}\n'
            ),
            'c := cors.New(cors.Options{AllowedOrigins: []string{"*"}, AllowCredentials: true})\n',
            "u := websocket.Upgrader{CheckOrigin: func(r *http.Request) bool { return true }}\n",
        ),
        misses=(
            'w.Header().Set("Access-Control-Allow-Origin", "https://example.org")\n',
            'w.Header().Set("Access-Control-Allow-Origin", "*")\n',
            "u := websocket.Upgrader{CheckOrigin: func(r *http.Request) bool { return r.Host == host }}\n",
        ),
    ),
    Rule(
        id="FH847",
        name="go-origin-bypass",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=346,
        check=origin_bypass,
        also=("G121",),
        on=(".AddInsecureBypassPattern",),
        hits=('p.AddInsecureBypassPattern("/")\n', 'p.AddInsecureBypassPattern("/api/*")\n'),
        misses=('p.AddInsecureBypassPattern("/healthz")\n',),
    ),
    Rule(
        id="FH848",
        name="go-redirected-headers",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=200,
        check=redirected_headers,
        also=("G119",),
        on=(b"CheckRedirect",),
        hits=(
            (
                "c := &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {\n"
                '\tr.Header.Set("Authorization", t)\n\treturn nil\n}}\n'
            ),
            (
                "c := &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {\n"
                "\tr.Header = via[0].Header\n\treturn nil\n}}\n"
            ),
        ),
        misses=(
            (
                "c := &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {\n"
                '\tr.Header.Set("X-Trace", t)\n\treturn nil\n}}\n'
            ),
            'r.Header.Set("Authorization", t)\n',
        ),
    ),
    Rule(
        id="FH849",
        name="go-two-lengths",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=444,
        check=two_lengths,
        also=("G113",),
        on=(b"ransfer-",),
        hits=(
            (
                "func f(w http.ResponseWriter) {\n\th := w.Header()\n"
                '\th.Set("Transfer-Encoding", "chunked")\n\th.Set("Content-Length", "5")\n}\n'
            ),
        ),
        misses=(
            'func f(w http.ResponseWriter) { w.Header().Set("Transfer-Encoding", "chunked") }\n',
            (
                'func f(w http.ResponseWriter) { w.Header().Set("Transfer-Encoding", "chunked") }\n'
                'func g(w http.ResponseWriter) { w.Header().Set("Content-Length", "5") }\n'
            ),
        ),
    ),
)
