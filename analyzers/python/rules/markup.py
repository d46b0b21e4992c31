"""Rules about HTML and templates: text that is called safe, and templates that are text of somebody else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.fixed import is_fixed
from analyzers.python.interests import calls, decorated
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, fold, is_false, is_literal, is_true, keyword
from analyzers.rule import Hit, Rule

_SAFE = frozenset(
    """
    django.utils.safestring.mark_safe django.utils.html.mark_safe django.utils.safestring.SafeText
    django.utils.safestring.SafeUnicode django.utils.safestring.SafeString django.utils.safestring.SafeBytes
""".split()
)
_MARKUP = "markupsafe.Markup flask.Markup jinja2.Markup jinja2.utils.Markup flask.helpers.Markup"
_ESCAPES = frozenset(
    """
    markupsafe.escape html.escape django.utils.html.escape django.utils.html.conditional_escape flask.escape
    cgi.escape bleach.clean nh3.clean xml.sax.saxutils.escape django.utils.html.format_html
""".split()
)


def marked_safe(node: ast.expr, at: Scope) -> Iterator[Hit]:
    """Django is told that a text is safe HTML, and will not escape it.

    What somebody else chose in it runs as script in the browser of whoever looks at the page. Build markup with
    ``format_html``, which escapes what is put in, and escape the rest.

    Texts that the source itself writes are left alone or, if put together from several, reported as information.
    """
    if not isinstance(node, ast.Call):
        yield at.hit(node, "what this function gives is called safe HTML and will not be escaped")
        return
    text = argument(node, 0, "s")
    severity = None
    if is_fixed(text, at):
        if is_literal(text):
            # The other tools list every use of the function; a text of the source is no finding.
            yield at.hit(node, "a text of the source is called safe HTML", severity=Severity.INFO, also=("B308",))
            return
        severity = Severity.INFO
    elif _is_escaped(text, at):
        return
    yield at.hit(node, "this text is called safe HTML and will not be escaped", severity=severity)


def markup_made(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``Markup`` tells the template engine that a text is safe HTML, so it will not be escaped.

    Put values in afterwards: ``Markup("<b>{}</b>").format(name)`` escapes the name. Escape what comes from outside.
    """
    text = argument(call, 0)
    if is_literal(text) or _is_escaped(text, at):
        return
    severity = Severity.INFO if is_fixed(text, at) else None
    yield at.hit(call, "this text is called safe HTML and will not be escaped", severity=severity)


def _is_escaped(text: ast.expr | None, at: Scope) -> bool:
    return isinstance(text, ast.Call) and not _ESCAPES.isdisjoint(origins(text.func, at))


def autoescape_off(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A Jinja2 environment that does not escape: every value that goes into a page can be script.

    Jinja2 does not escape unless it is told to. Give it ``autoescape=select_autoescape()``, or ``autoescape=True``.
    """
    value = keyword(call, "autoescape")
    if value is None:
        if any(one.arg is None for one in call.keywords):
            return
        yield at.hit(call, "without autoescape no value is escaped")
    elif isinstance(value, ast.Call) and any("select_autoescape" in name for name in origins(value.func, at)):
        return
    elif is_false(value, at):
        yield at.hit(call, "autoescape is switched off: no value is escaped")
    elif not is_true(value, at):
        yield at.hit(call, "autoescape may be off: then no value is escaped", severity=Severity.LOW)


def mako_template(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """Mako escapes nothing unless each expression, or the template's ``default_filters``, asks for it.

    Give it ``default_filters=["h"]``, or use a template engine that escapes by default.
    """
    filters = keyword(call, "default_filters")
    known = fold(filters, at)
    if not (isinstance(known, tuple) and ("h" in known)):
        yield at.hit(call, "Mako escapes no value by default")


def template_built(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A template is put together while the program runs. Whoever chooses its text runs code on the server.

    Template languages reach the objects of the program: ``{{ config }}``, ``{{ ''.__class__ }}``. Keep the template a
    text of the source, and hand values over beside it.
    """
    text = argument(call, 0, "source")
    if not is_fixed(text, at):
        yield at.hit(call, "the template itself is put together while the program runs")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH130",
        name="marked-safe",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=79,
        check=marked_safe,
        on=(
            calls(" ".join(_SAFE)),
            decorated(" ".join(_SAFE)),
        ),
        also=("B308", "B703"),
        hits=(
            "from django.utils.safestring import mark_safe\nmark_safe(f'<b>{name}</b>')\n",
            "from django.utils import safestring\ndef f(x):\n    return safestring.mark_safe('<b>%s</b>' % x)\n",
            "from django.utils.safestring import SafeText\nSafeText(x)\n",
        ),
        misses=(
            "from django.utils.html import escape, mark_safe\nmark_safe(escape(x))\n",
            "def mark_safe(x): pass\nmark_safe(x)\n",
        ),
    ),
    Rule(
        id="FH131",
        name="markup-made",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=79,
        check=markup_made,
        on=(calls(_MARKUP),),
        also=("B704",),
        hits=(
            "from markupsafe import Markup\nMarkup(f'<b>{name}</b>')\n",
            "import flask\nflask.Markup('<b>%s</b>' % name)\n",
            "from markupsafe import Markup\nMarkup(content)\n",
        ),
        misses=(
            "from markupsafe import Markup\nMarkup('<b>{}</b>').format(name)\n",
            "from markupsafe import Markup, escape\nMarkup(escape(name))\n",
        ),
    ),
    Rule(
        id="FH132",
        name="autoescape-off",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=79,
        check=autoescape_off,
        on=(calls("jinja2.Environment jinja2.environment.Environment jinja2.sandbox.SandboxedEnvironment"),),
        also=("B701",),
        hits=(
            "import jinja2\njinja2.Environment(loader=l)\n",
            "from jinja2 import Environment\nEnvironment(autoescape=False)\n",
            "from jinja2 import Environment\nEnvironment(autoescape=flag)\n",
        ),
        misses=(
            "from jinja2 import Environment\nEnvironment(autoescape=True)\n",
            "import jinja2\njinja2.Environment(autoescape=jinja2.select_autoescape())\n",
            "from mine import Environment\nEnvironment(loader=l)\n",
        ),
    ),
    Rule(
        id="FH133",
        name="mako-template",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=79,
        check=mako_template,
        on=(calls("mako.template.Template mako.lookup.TemplateLookup"),),
        also=("B702",),
        hits=(
            "from mako.template import Template\nTemplate(text)\n",
            "from mako import template\ntemplate.Template('x')\n",
        ),
        misses=(
            "from mako.template import Template\nTemplate(text, default_filters=['h'])\n",
            "from string import Template\nTemplate(text)\n",
        ),
    ),
    Rule(
        id="FH134",
        name="template-built",
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        cwe=1336,
        check=template_built,
        on=(
            calls(
                "flask.render_template_string flask.templating.render_template_string jinja2.Template "
                "jinja2.Environment().from_string jinja2.environment.Template"
            ),
        ),
        hits=(
            "from flask import render_template_string\ndef f(x):\n    return render_template_string('<b>' + x)\n",
            "import jinja2\ndef f(x):\n    return jinja2.Template(x).render()\n",
        ),
        misses=(
            "from flask import render_template_string\nrender_template_string('{{ name }}', name=name)\n",
            "import jinja2\njinja2.Template('a {{ b }}').render(b=c)\n",
            "from string import Template\nTemplate(x)\n",
        ),
    ),
)
