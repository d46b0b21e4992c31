"""Rules about what is sent to a browser: pages, templates, and where it is sent next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang import calling, knowledge
from analyzers.golang.guards import TEXT_CHECKS, checked
from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.golang.values import LOCAL, NETWORK, Source
from analyzers.golang.words import words
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_FIXED_HOST = re.compile(r"^[a-z][a-z0-9+.-]*://[^/\0\1?#]+[/?#]", re.IGNORECASE)
_FIXED_PATH = re.compile(r"^/(?![/\\\0])")
_WRITERS = words("net/http.ResponseWriter http.ResponseWriter")
_PRINTING = {"fmt.Fprintf": 1, "fmt.Fprint": 1, "fmt.Fprintln": 1, "io.WriteString": 1, "io.Copy": 1}
_WRITING = {".Write": 0, ".WriteString": 0, ".HTML": 1, ".HTMLBlob": 1}
_PLAIN = re.compile(rb"Content-Type\"?,?\s*\"(?:application/json|text/plain|application/octet)", re.IGNORECASE)


def cross_site_scripting(program: Program, call: Call) -> Iterator[Hit]:
    """A response holds text of the request that was not made harmless for HTML.

    A link to the page can then carry a script that runs as the user who follows it. Render with ``html/template``, or
    pass the text through ``html.EscapeString``; say ``text/plain`` or JSON in ``Content-Type`` where it is no page.
    """
    if not program.serves:
        return
    at = _PRINTING.get(call.name, -1)
    if at < 0:
        at = _WRITING[call.name]
        if call.receiver is None or not _is_writer(program, call.receiver):
            return
    elif not call.arguments or not _is_writer(program, call.arguments[0]):
        return
    source = _sent(program, call.arguments[at:], formatted=call.name == "fmt.Fprintf")
    if source is not None and not _says_plain(program, call):
        yield program.hit(call.node, f"{source.what} (line {source.line}) is written into a page as it is")


def _is_writer(program: Program, node: Node) -> bool:
    kind = program.type_of(node)
    return kind in _WRITERS or kind in knowledge.CONTEXTS


def _sent(program: Program, nodes: list[Node], *, formatted: bool) -> Source | None:
    values = [program.value(node) for node in nodes]
    if formatted:
        values = [calling.formatted(values)]
    for value in values:
        source = value.from_outside("html", NETWORK)
        if source is not None and not value.harmless:
            return source
    return None


def _says_plain(program: Program, call: Call) -> bool:
    function = call.scope.function
    return function is not None and _PLAIN.search(program.data, function.start, call.node.start_byte) is not None


_UNESCAPED = tuple(f"html/template.{name}" for name in ("HTML", "HTMLAttr", "CSS", "JS", "JSStr", "URL", "Srcset"))


def unescaped_template(program: Program, call: Call) -> Iterator[Hit]:
    """A text that is not constant is declared to be safe HTML, script, style or address for a template.

    ``html/template`` then puts it into the page as it is. Leave the conversion out and the template escapes the text,
    or clean the text with a sanitizer made for that.
    """
    value = program.argument(call, 0)
    if not call.arguments or value.harmless or value.is_clean("html"):
        return
    source = value.from_outside("html", LOCAL)
    yield program.hit(
        call.node,
        f"{source.what} (line {source.line}) is put into a page unescaped"
        if source
        else "a text is put into a page unescaped",
        severity=Severity.HIGH if source is not None and source.rank >= NETWORK else None,
        confidence=Confidence.HIGH if source is not None else None,
    )


_TEMPLATES = words("text/template.Template html/template.Template")
_EXECUTING = {".Execute": 1, ".ExecuteTemplate": 2}


def template_injection(program: Program, call: Call) -> Iterator[Hit]:
    """A template is made of text from outside, or a page is made by ``text/template``, which escapes nothing.

    Who writes the template reads everything that it is given and calls its methods. Keep templates in the program and
    give data to them; for pages use ``html/template``.
    """
    kind = program.receiver_type(call) if program.serves else ""
    if kind not in _TEMPLATES:
        return
    at = _EXECUTING.get(call.name, 0)
    value = program.argument(call, at)
    source = value.from_outside("*", NETWORK) if call.name == ".Parse" else value.from_outside("html", NETWORK)
    if source is None or value.harmless:
        return
    if call.name == ".Parse":
        yield program.hit(call.node, f"{source.what} (line {source.line}) is read as a template")
    elif kind.startswith("text/") and _is_writer(program, call.arguments[0]):
        yield program.hit(
            call.node,
            f"{source.what} (line {source.line}) is put into a page by text/template, which escapes nothing",
        )


_REDIRECT_AT = {"net/http.Redirect": 2, ".Redirect": 1, "net/http.RedirectHandler": 0}


def open_redirect(program: Program, call: Call) -> Iterator[Hit]:
    r"""The browser is sent to an address that comes from the request.

    A link to this site then leads to another, which may look like this one. Allow paths of this site alone: a single
    ``/`` in front, no ``//`` and no ``\``, or choose from a list.
    """
    at = _REDIRECT_AT[call.name]
    if not program.serves:
        return
    if call.receiver is not None:
        kind = program.receiver_type(call)
        if kind not in knowledge.CONTEXTS:
            return
        at = 0 if kind.endswith("fiber.Ctx") else at
    value = program.argument(call, at)
    source = value.from_outside("url", NETWORK)
    if source is None or value.harmless or _FIXED_HOST.match(value.pattern) or _FIXED_PATH.match(value.pattern):
        return
    if not checked(program, call.arguments[at], TEXT_CHECKS):
        yield program.hit(call.node, f"{source.what} (line {source.line}) decides where the browser goes")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH807",
        name="go-cross-site-scripting",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=79,
        check=cross_site_scripting,
        also=("G705",),
        on=(*_PRINTING, *_WRITING),
        hits=(
            'func f(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "<p>%s</p>", r.FormValue("n")) }\n',
            'func f(w http.ResponseWriter, r *http.Request) { w.Write([]byte(r.URL.Query().Get("q"))) }\n',
            'func f(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.URL.Path) }\n',
            'func f(c echo.Context) error { return c.HTML(200, "<b>"+c.QueryParam("n")+"</b>") }\n',
        ),
        misses=(
            'func f(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, html.EscapeString(r.FormValue("n"))) }\n',
            'func f(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%d", id) }\n',
            'func f(w http.ResponseWriter, r *http.Request) { fmt.Fprint(os.Stdout, r.FormValue("n")) }\n',
            (
                "func f(w http.ResponseWriter, r *http.Request) {\n"
                '\tw.Header().Set("Content-Type", "text/plain")\n\tfmt.Fprint(w, r.FormValue("n"))\n}\n'
            ),
            'func f(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") }\n',
        ),
    ),
    Rule(
        id="FH808",
        name="go-unescaped-template",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=79,
        check=unescaped_template,
        also=("G203",),
        on=_UNESCAPED,
        hits=(
            'func f(r *http.Request) { data := template.HTML(r.FormValue("x")) }\n',
            "func safe(s string) template.HTML { return template.HTML(s) }\n",
            "x := template.JS(load())\n",
        ),
        misses=(
            'x := template.HTML("<b>fixed</b>")\n',
            'const s = "<b>fixed</b>"\nvar x = template.HTML(s)\n',
            "x := template.HTML(policy.SanitizeHTML(s))\n",
            "x := template.HTML(html.EscapeString(s))\n",
        ),
    ),
    Rule(
        id="FH809",
        name="go-template-injection",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=1336,
        check=template_injection,
        also=("G708",),
        on=(".Parse", *_EXECUTING),
        hits=(
            'func f(r *http.Request) { template.New("x").Parse(r.FormValue("t")) }\n',
            (
                'import "text/template"\n\nvar t = template.Must(template.New("p").Parse("{{.}}"))\n\n'
                'func f(w http.ResponseWriter, r *http.Request) { t.Execute(w, r.FormValue("n")) }\n'
            ),
        ),
        misses=(
            'func f(r *http.Request) { template.New("x").Parse("{{.}}") }\n',
            (
                'import "html/template"\n\nvar t = template.Must(template.New("p").Parse("{{.}}"))\n\n'
                'func f(w http.ResponseWriter, r *http.Request) { t.Execute(w, r.FormValue("n")) }\n'
            ),
            'func f(r *http.Request) { url.Parse(r.FormValue("u")) }\n',
        ),
    ),
    Rule(
        id="FH810",
        name="go-open-redirect",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=601,
        check=open_redirect,
        also=("G710",),
        on=tuple(_REDIRECT_AT),
        hits=(
            'func f(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.FormValue("next"), 302) }\n',
            'func f(c *gin.Context) { c.Redirect(302, c.Query("to")) }\n',
        ),
        misses=(
            'func f(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", 302) }\n',
            'func f(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/u/"+r.FormValue("id"), 302) }\n',
            "func f(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, cfg.Home, 302) }\n",
        ),
    ),
)
