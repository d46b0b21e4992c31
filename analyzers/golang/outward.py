"""Rules about what a request's sender writes and the program passes on: addresses, logs, mails, objects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.golang import calling
from analyzers.golang.guards import TEXT_CHECKS, checked
from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.values import LOCAL, NETWORK, PARAMETER, REQUEST
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

_URL_AT: dict[str, int] = {
    **{f"net/http.{name}": 0 for name in ("Get", "Post", "PostForm", "Head")},
    "net/http.NewRequest": 1,
    "net/http.NewRequestWithContext": 2,
    "net.Dial": 1,
    "net.DialTimeout": 1,
    "net/http/httputil.NewSingleHostReverseProxy": 0,
    "github.com/gorilla/websocket.Dial": 0,
    "github.com/valyala/fasthttp.Get": 1,
    **{f".{name}": 0 for name in ("Get", "Post", "PostForm", "Head")},
}
_FIXED_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://[^/\0\1?#]+[/?#]", re.IGNORECASE)


def request_forgery(program: Program, call: Call) -> Iterator[Hit]:
    """A request is sent to an address that comes from outside.

    Whoever decides the host reaches what only this machine may: cloud metadata at 169.254.169.254, admin interfaces,
    databases. Choose the host from a fixed list, or check the resolved address against private ranges when dialling.

    An address whose scheme and host are constant is not reported. A program's own arguments and environment are low, a
    parameter whose origin is not seen is an information.
    """
    at = _URL_AT[call.name]
    if call.receiver is not None and program.receiver_type(call) != "net/http.Client":
        return
    value = program.argument(call, at)
    source = value.from_outside("host", PARAMETER)
    if source is None or value.harmless or _FIXED_HOST.match(value.pattern):
        return
    if checked(program, call.arguments[at], TEXT_CHECKS):
        return
    local, parameter = source.rank == LOCAL, source.rank == PARAMETER
    yield program.hit(
        call.node,
        f"{source.what} (line {source.line}) decides where this request goes",
        severity=Severity.INFO if parameter else Severity.LOW if local else None,
        confidence=Confidence.LOW if parameter else Confidence.MEDIUM if local else None,
        also=("G107",) if parameter else None,
    )


_LOGGING = (
    *(f"log.{verb}{end}" for verb in ("Print", "Fatal", "Panic") for end in ("", "f", "ln")),
    *(f"log/slog.{level}" for level in ("Debug", "Info", "Warn", "Error")),
)


def log_injection(program: Program, call: Call) -> Iterator[Hit]:
    """A line of the log holds text of the request as it was sent.

    A line feed in it makes two lines of one, of which the second says what the sender wanted. Write it with ``%q``, or
    as an attribute of a structured logger.
    """
    if not program.serves and not program.reads:
        return
    if not any(program.may_carry(node) for node in call.arguments):
        return
    if call.name.startswith("log/slog."):
        values = [program.argument(call, 0)]
    elif call.name.endswith("f"):
        values = [calling.formatted([program.value(node) for node in call.arguments])]
    else:
        values = [program.value(node) for node in call.arguments]
    for value in values:
        source = value.from_outside("log", LOCAL)
        if source is not None and not value.harmless:
            yield program.hit(
                call.node,
                f"{source.what} (line {source.line}) is written to the log as it is",
                severity=Severity.LOW if source.rank == REQUEST else Severity.INFO,
            )
            return


def mail_injection(program: Program, call: Call) -> Iterator[Hit]:
    """A mail's sender, recipient or text comes from the request unchecked.

    A line feed in an address adds headers and commands: further recipients, another text. Parse addresses with
    ``mail.ParseAddress``.
    """
    if not program.serves:
        return
    if call.receiver is not None:
        if program.receiver_type(call) != "net/smtp.Client":
            return
        nodes = call.arguments[:1]
    else:
        nodes = call.arguments[2:5]
    for node in nodes:
        value = program.value(node)
        source = value.from_outside("smtp", NETWORK)
        if source is not None and not value.harmless:
            yield program.hit(
                call.node, f"{source.what} (line {source.line}) becomes part of a mail's commands or headers"
            )
            return


_DECODING = {
    "encoding/gob.NewDecoder": Severity.HIGH,
    "encoding/xml.NewDecoder": Severity.LOW,
    "encoding/xml.Unmarshal": Severity.LOW,
    "gopkg.in/yaml.Unmarshal": Severity.LOW,
    "gopkg.in/yaml.NewDecoder": Severity.LOW,
}


def unsafe_decoding(program: Program, call: Call) -> Iterator[Hit]:
    """Objects are made of a request's data in a format that was not meant for strangers.

    ``gob`` trusts its sender with sizes and types; XML and YAML can be made to take much time and memory. Limit
    the size (``http.MaxBytesReader``), and use JSON with fixed types where you may choose.
    """
    source = program.argument(call, 0).from_outside("*", NETWORK) if program.serves else None
    if source is not None:
        yield program.hit(
            call.node, f"{source.what} (line {source.line}) is decoded into objects", severity=_DECODING[call.name]
        )


_XML_OPTIONS = ("XMLParseNoEnt", "XMLParseDTDLoad", "XMLParseDTDAttr", "XMLParseXInclude")


def external_entities(program: Program) -> Iterator[Hit]:
    """An XML reader is told to follow what the document points to (XXE).

    A document then reads this machine's files and addresses into itself. Go's own ``encoding/xml`` does not; leave
    these options of libxml2 out.
    """
    for path in ("github.com/lestrrat-go/libxml2/parser", "github.com/lestrrat/go-libxml2/parser"):
        for node in program.mentions(*(f"{path}.{name}" for name in _XML_OPTIONS)):
            yield program.hit(node, "what an XML document points to is read")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH806",
        name="go-request-forgery",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=918,
        check=request_forgery,
        also=("G107", "G704"),
        on=tuple(_URL_AT),
        hits=(
            'func f(r *http.Request) { http.Get(r.FormValue("url")) }\n',
            'func f(r *http.Request) { http.NewRequest("GET", "http://"+r.FormValue("h")+"/x", nil) }\n',
            'http.Post(os.Getenv("TARGET"), "text/plain", nil)\n',
            "func get(url string) { http.Get(url) }\n",
            "client := &http.Client{}\nclient.Get(os.Args[1])\n",
        ),
        misses=(
            'http.Get("https://example.org/a")\n',
            'func f(r *http.Request) { http.Get("https://api.example.org/q?x=" + r.FormValue("x")) }\n',
            'const base = "https://a.example"\nhttp.Get(base + "/x")\n',
            "m.Get(os.Args[1])\n",
            'func f(r *http.Request) { http.Get(fmt.Sprintf("https://a.example/users/%d", id)) }\n',
        ),
    ),
    Rule(
        id="FH811",
        name="go-log-injection",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=117,
        check=log_injection,
        also=("G706",),
        on=_LOGGING,
        hits=(
            'func f(r *http.Request) { log.Printf("user %s", r.FormValue("u")) }\n',
            'log.Println("run", os.Args[1])\n',
            'func f(r *http.Request) { slog.Info(r.FormValue("m")) }\n',
        ),
        misses=(
            'func f(r *http.Request) { log.Printf("user %q", r.FormValue("u")) }\n',
            'func f(r *http.Request) { slog.Info("login", "user", r.FormValue("u")) }\n',
            'log.Printf("%d of %d", a, b)\n',
            "log.Println(err)\n",
        ),
    ),
    Rule(
        id="FH812",
        name="go-mail-injection",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=93,
        check=mail_injection,
        also=("G707",),
        on=("net/smtp.SendMail", ".Mail", ".Rcpt"),
        hits=(
            'func f(r *http.Request) { smtp.SendMail(a, nil, r.FormValue("from"), to, msg) }\n',
            'func f(r *http.Request, c *smtp.Client) { c.Rcpt(r.FormValue("to")) }\n',
        ),
        misses=(
            'func f(r *http.Request) { smtp.SendMail(a, nil, "me@example.org", to, []byte("hi")) }\n',
            (
                'func f(r *http.Request) {\n\tp, err := mail.ParseAddress(r.FormValue("from"))\n'
                '\tsmtp.SendMail(a, nil, p.Address, to, []byte("hi"))\n}\n'
            ),
        ),
    ),
    Rule(
        id="FH813",
        name="go-unsafe-decoding",
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        cwe=502,
        check=unsafe_decoding,
        also=("G709",),
        on=tuple(_DECODING),
        hits=(
            "func f(w http.ResponseWriter, r *http.Request) { gob.NewDecoder(r.Body).Decode(&x) }\n",
            'func f(r *http.Request) { xml.Unmarshal([]byte(r.FormValue("x")), &v) }\n',
        ),
        misses=(
            'f, _ := os.Open("data.gob")\ngob.NewDecoder(f).Decode(&x)\n',
            "func f(r *http.Request) { json.NewDecoder(r.Body).Decode(&x) }\n",
        ),
    ),
    Rule(
        id="FH819",
        name="go-external-entities",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=611,
        check=external_entities,
        on=(b"XMLParse",),
        hits=('import "github.com/lestrrat-go/libxml2/parser"\n\nvar p = parser.New(parser.XMLParseNoEnt)\n',),
        misses=('import "encoding/xml"\n\nvar d = xml.NewDecoder(r)\n', "x := other.XMLParseNoEnt\n"),
    ),
)
