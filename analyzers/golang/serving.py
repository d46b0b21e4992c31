"""Rules about programs that serve: where they listen, for how long they wait, what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

_LISTENING = {
    "net.Listen": 1,
    "net.ListenPacket": 1,
    "crypto/tls.Listen": 1,
    "net/http.ListenAndServe": 0,
    "net/http.ListenAndServeTLS": 0,
    ".Run": 0,
    ".Start": 0,
    ".Listen": 0,
    ".ListenAndServe": 0,
}
_EVERY = re.compile(r"^(?:0\.0\.0\.0|\[::\]|::|\*)?:\d*$|^0\.0\.0\.0$")
_EXPLICIT = re.compile(r"^(?:0\.0\.0\.0|\[::\])(?::\d*)?$")


def bind_all(program: Program, call: Call) -> Iterator[Hit]:
    """The program listens on every address of the machine.

    What was meant for this machine, or for one network, is then reachable from all. Name the address:
    ``127.0.0.1:8080``. For a service that is to be public it is right; a web server's ``:8080`` is an information.
    """
    listens = call.receiver is None and call.name.startswith(("net.", "crypto/"))
    if not listens and not any(word in program.data for word in (b"0.0.0.0", b"[::]")):
        return
    address = program.argument(call, _LISTENING[call.name]).constant
    network = program.argument(call, 0).constant if _LISTENING[call.name] == 1 else "tcp"
    if not isinstance(address, str) or network not in {"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6"}:
        return
    if _EXPLICIT.match(address) or (listens and _EVERY.match(address)):
        yield program.hit(call.node, f"listens on every address of the machine ({address[:40]})")


_ADDRESS = "Addr"


def bind_all_server(program: Program) -> Iterator[Hit]:
    """A server is made that listens on every address of the machine, by ``0.0.0.0`` in its ``Addr``.

    Name the address that is to be reachable.
    """
    for literal, _ in program.literals("net/http.Server"):
        node = program.fields(literal).get(_ADDRESS)
        address = program.value(node).constant if node is not None else None
        if isinstance(address, str) and _EXPLICIT.match(address) and node is not None:
            yield program.hit(node, f"listens on every address of the machine ({address[:40]})")


_WITHOUT = tuple(f"net/http.{name}" for name in ("ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"))


def no_timeouts(program: Program, call: Call) -> Iterator[Hit]:
    """A web server is started by a function that sets no timeouts.

    Clients that send one byte a minute then keep connections until there are no more (Slowloris). Make an
    ``http.Server`` with ``ReadHeaderTimeout`` and start that.
    """
    yield program.hit(call.node, "this server waits for a slow client forever")


def server_without_timeout(program: Program) -> Iterator[Hit]:
    """An ``http.Server`` is made without ``ReadHeaderTimeout`` or ``ReadTimeout``.

    Clients that send one byte a minute then keep connections until there are no more (Slowloris).
    """
    for literal, _ in program.literals("net/http.Server"):
        if program.fields(literal).keys() & {"ReadHeaderTimeout", "ReadTimeout"}:
            continue
        made = (*program.seen.field_sets.get("ReadHeaderTimeout", ()), *program.seen.field_sets.get("ReadTimeout", ()))
        if not any(one.start > literal.start_byte for one in made):
            yield program.hit(literal, "this server waits for a slow client's header forever")


def profiling(program: Program) -> Iterator[Hit]:
    """Importing ``net/http/pprof`` puts profiles, command line and stack traces under ``/debug/pprof``.

    The default mux then serves them to whoever reaches the server. Serve them on an address of their own.
    """
    for spec, node in program.seen.imports:
        if spec == "net/http/pprof":
            served = any(name in program.by_name for name in _WITHOUT) or program.literals("net/http.Server")
            yield program.hit(
                node,
                "profiles are served to whoever reaches this server",
                severity=None if served else Severity.LOW,
                confidence=None if served else Confidence.MEDIUM,
            )


def cgi(program: Program) -> Iterator[Hit]:
    """``net/http/cgi`` is used, which hands request headers to programs as environment variables.

    Versions of Go before 1.6.3 pass on ``Proxy`` as ``HTTP_PROXY`` (httpoxy, CVE-2016-5386). Serve by ``net/http``.
    """
    found = False
    for spec, node in program.seen.imports:
        if spec == "net/http/cgi":
            found = True
            yield program.hit(node, "requests are handled by CGI")
    for call in () if found else program.calls("net/http/cgi.Serve", "net/http/cgi.Request"):
        yield program.hit(call.node, "requests are handled by CGI", confidence=Confidence.MEDIUM)


def multipart_form(program: Program, call: Call) -> Iterator[Hit]:
    """A multipart form is read whatever its size.

    ``ParseMultipartForm`` bounds what is kept in memory, and writes the rest to the disk. Wrap the body before:
    ``r.Body = http.MaxBytesReader(w, r.Body, limit)``.
    """
    function = call.scope.function
    start = function.start if function is not None else 0
    if b"MaxBytesReader" not in program.data[start : call.node.start_byte]:
        yield program.hit(call.node, "a form of any size is read")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH840",
        name="go-bind-all",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=200,
        check=bind_all,
        also=("G102",),
        on=tuple(_LISTENING),
        hits=(
            'net.Listen("tcp", ":2000")\n',
            'const a = "0.0.0.0:80"\nvar l, _ = net.Listen("tcp", a)\n',
            'r := gin.Default()\nr.Run("0.0.0.0:8080")\n',
            'http.ListenAndServe("0.0.0.0:8080", nil)\n',
        ),
        misses=(
            'net.Listen("tcp", "127.0.0.1:2000")\n',
            'net.Listen("unix", "/run/a.sock")\n',
            'http.ListenAndServe(":8080", nil)\n',
            't.Run("empty", f)\n',
            'net.Listen("tcp", addr)\n',
        ),
    ),
    Rule(
        id="FH839",
        name="go-bind-all-server",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=200,
        check=bind_all_server,
        also=("G102",),
        on=(b"http.Server{",),
        hits=('s := &http.Server{Addr: "0.0.0.0:80", ReadTimeout: t}\n',),
        misses=('s := &http.Server{Addr: ":8080", ReadTimeout: t}\n', "s := &http.Server{Addr: addr}\n"),
    ),
    Rule(
        id="FH841",
        name="go-no-timeouts",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=400,
        check=no_timeouts,
        also=("G114",),
        on=_WITHOUT,
        hits=('http.ListenAndServe(":8080", nil)\n', "http.Serve(l, mux)\n"),
        misses=("server.ListenAndServe()\n", "mine.Serve(l, mux)\n"),
    ),
    Rule(
        id="FH842",
        name="go-server-without-timeout",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=400,
        check=server_without_timeout,
        also=("G112",),
        on=(b"http.Server{",),
        hits=('s := &http.Server{Addr: ":1"}\n', "var s http.Server = http.Server{Handler: h}\n"),
        misses=(
            's := &http.Server{Addr: ":1", ReadHeaderTimeout: time.Second}\n',
            's := &http.Server{Addr: ":1"}\ns.ReadTimeout = time.Second\n',
            's := &Server{Addr: ":1"}\n',
        ),
    ),
    Rule(
        id="FH843",
        name="go-profiling",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=200,
        check=profiling,
        also=("G108",),
        on=(b"net/http/pprof",),
        hits=('import _ "net/http/pprof"\n', 'import "net/http/pprof"\n'),
        misses=('import "runtime/pprof"\n', 'import "net/http"\n'),
    ),
    Rule(
        id="FH890",
        name="go-cgi",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=327,
        check=cgi,
        also=("G504",),
        on=(b"cgi",),
        hits=('import "net/http/cgi"\n', "cgi.Serve(h)\n"),
        misses=('import "net/http"\n', "mycgi.Serve(h)\n"),
    ),
    Rule(
        id="FH850",
        name="go-multipart-form",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=400,
        check=multipart_form,
        also=("G120",),
        on=(".ParseMultipartForm",),
        hits=("func f(w http.ResponseWriter, r *http.Request) { r.ParseMultipartForm(32 << 20) }\n",),
        misses=(
            (
                "func f(w http.ResponseWriter, r *http.Request) {\n"
                "\tr.Body = http.MaxBytesReader(w, r.Body, 1<<20)\n\tr.ParseMultipartForm(32 << 20)\n}\n"
            ),
            "func f(r *http.Request) { r.ParseForm() }\n",
        ),
    ),
)
