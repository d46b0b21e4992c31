"""Rules about web applications: debuggers, cookies, cross-site requests and settings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.interests import assigned, decorated, keywords, methods
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import fold, is_false, is_true, keyword
from analyzers.rule import Hit, Rule

_FLASK = frozenset({"flask.Flask().run", "flask.app.Flask().run", "quart.Quart().run"})
_COOKIE_SETTINGS = {
    "SESSION_COOKIE_SECURE": False,
    "CSRF_COOKIE_SECURE": False,
    "SESSION_COOKIE_HTTPONLY": False,
    "REMEMBER_COOKIE_SECURE": False,
    "REMEMBER_COOKIE_HTTPONLY": False,
    "SECURE_SSL_REDIRECT": False,
    "SECURE_CONTENT_TYPE_NOSNIFF": False,
    "SECURE_BROWSER_XSS_FILTER": False,
    "WTF_CSRF_ENABLED": False,
    "WTF_CSRF_CHECK_DEFAULT": False,
    "CORS_ORIGIN_ALLOW_ALL": True,
    "CORS_ALLOW_ALL_ORIGINS": True,
}
_EXEMPT = (
    "django.views.decorators.csrf.csrf_exempt flask_wtf.csrf.CSRFProtect().exempt flask_wtf.CSRFProtect().exempt "
    "csrf_exempt"
)
_ORIGIN_HEADER = "access-control-allow-origin"
_WORTHY = ("session", "auth", "token", "jwt", "login", "user", "remember", "sid", "csrf")


def debugger_on(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """Flask runs with its debugger, which lets whoever causes an error run Python in the browser.

    Leave ``debug`` out, and switch it on from outside while developing: ``flask run --debug``.
    """
    names = origins(call.func, at)
    known = not _FLASK.isdisjoint(names)
    if not known:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not (isinstance(owner, ast.Name) and owner.id in {"app", "application", "server"}):
            return
        if at.owner(owner.id) is not None or not (at.tree.imports("flask") or not at.tree.modules):
            return
    if is_true(keyword(call, "debug"), at):
        confidence = None if known else Confidence.LOW
        yield at.hit(call, "the debugger lets who causes an error run code", confidence=confidence)


def cookie_open(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A cookie is sent over plain HTTP too, or can be read by scripts.

    Set ``secure=True``, ``httponly=True`` and ``samesite="Lax"`` for every cookie that says who somebody is.
    """
    if not isinstance(call.func, ast.Attribute) or any(one.arg is None for one in call.keywords):
        return
    off = [flag for flag in ("secure", "httponly") if is_false(keyword(call, flag), at)]
    missing = [flag for flag in ("secure", "httponly") if keyword(call, flag) is None]
    name = fold(call.args[0], at) if call.args else fold(keyword(call, "key"), at)
    worthy = isinstance(name, str) and any(word in name.lower() for word in _WORTHY)
    if off:
        yield at.hit(call, f"{off[0]} is switched off for this cookie")
    elif missing:
        severity = Severity.LOW if worthy else Severity.INFO
        yield at.hit(call, f"{' and '.join(missing)} left out for this cookie", severity=severity)


def setting_open(node: ast.Assign | ast.Call, at: Scope) -> Iterator[Hit]:
    """A setting of Django or Flask gives up a protection: cookies over plain HTTP, no check of forms, any origin.

    Leave it at its default, and let the settings of a development machine say otherwise.
    """
    if isinstance(node, ast.Call):
        for one in node.keywords:
            if one.arg in _COOKIE_SETTINGS and fold(one.value, at) is _COOKIE_SETTINGS[one.arg]:
                yield at.hit(node, f"{one.arg} = {_COOKIE_SETTINGS[one.arg]} gives up a protection")
        return
    for target in node.targets:
        name = _setting(target)
        if name in _COOKIE_SETTINGS and fold(node.value, at) is _COOKIE_SETTINGS[name]:
            yield at.hit(node, f"{name} = {_COOKIE_SETTINGS[name]} gives up a protection")


def django_open(node: ast.Assign, at: Scope) -> Iterator[Hit]:
    """Django's settings for development: ``DEBUG = True``, ``ALLOWED_HOSTS = ["*"]``.

    The first shows source and settings to whoever causes an error, the second answers requests for any host. Read them
    from the environment, and let what is safe be the default.
    """
    if at.node.__class__ is not ast.Module:
        return
    for target in node.targets:
        name = target.id if isinstance(target, ast.Name) else ""
        if name == "DEBUG" and fold(node.value, at) is True:
            if any(one in at.bound for one in ("INSTALLED_APPS", "ALLOWED_HOSTS", "MIDDLEWARE", "ROOT_URLCONF")):
                yield at.hit(node, "DEBUG shows source and settings to who causes an error", severity=Severity.MEDIUM)
            else:
                yield at.hit(node, "debugging is on", severity=Severity.INFO, confidence=Confidence.LOW)
        elif name == "ALLOWED_HOSTS" and fold(node.value, at) == ("*",):
            yield at.hit(node, "requests for any host are answered")


def _setting(target: ast.expr) -> str:
    match target:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Attribute(attr="config"), slice=ast.Constant(value=str(name))):
            return name
        case _:
            return ""


def any_origin(node: ast.Call | ast.Assign, at: Scope) -> Iterator[Hit]:
    """Pages of any site may read what this service answers.

    List the origins that need it. With ``allow_credentials`` the pages read it in the name of whoever is logged in.
    """
    if isinstance(node, ast.Assign):
        for target in node.targets:
            match target:
                case ast.Subscript(slice=ast.Constant(value=str(name))) if name.lower() == _ORIGIN_HEADER:
                    if fold(node.value, at) == "*":
                        yield at.hit(node, "pages of any site may read the answer", severity=Severity.LOW)
        return
    for flag in ("allow_origins", "origins", "allow_origin_regex", "resources"):
        value = fold(keyword(node, flag), at)
        if value in {"*", ("*",), ".*"}:
            open_to_all = is_true(keyword(node, "allow_credentials") or keyword(node, "supports_credentials"), at)
            severity = None if open_to_all else Severity.LOW
            yield at.hit(node, "pages of any site may read the answers", severity=severity)
            return


def forms_unchecked(decorator: ast.expr, at: Scope) -> Iterator[Hit]:
    """A view is exempt from the check that a form came from a page of this site.

    Any page can then act in the name of whoever is logged in. Keep the check, or authenticate each request by a token
    in a header.
    """
    yield at.hit(decorator, "forms from other sites are accepted")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH520",
        name="debugger-on",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=489,
        check=debugger_on,
        on=(methods("run"),),
        also=("B201",),
        hits=(
            "from flask import Flask\napp = Flask(__name__)\napp.run(debug=True)\n",
            "import flask\nflask.Flask('x').run('0.0.0.0', debug=1)\n",
            "app.run(debug=True)\n",
        ),
        misses=(
            "from flask import Flask\napp = Flask(__name__)\napp.run()\n",
            "from flask import Flask\napp = Flask(__name__)\napp.run(debug=False)\n",
            "import asyncio\nasyncio.run(main(), debug=True)\n",
            "from flask import Flask\napp = 1\napp.run(debug=True)\n",
        ),
    ),
    Rule(
        id="FH521",
        name="cookie-open",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=614,
        check=cookie_open,
        on=(methods("set_cookie"),),
        hits=(
            "response.set_cookie('session', value, secure=False, httponly=True)\n",
            "response.set_cookie('session', value)\n",
        ),
        misses=(
            "response.set_cookie('session', value, secure=True, httponly=True)\n",
            "response.set_cookie('a', b, **options)\n",
            "set_cookie('a', b)\n",
        ),
    ),
    Rule(
        id="FH522",
        name="protection-off",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=614,
        check=setting_open,
        on=(assigned(" ".join(_COOKIE_SETTINGS)), keywords(" ".join(_COOKIE_SETTINGS))),
        hits=(
            "SESSION_COOKIE_SECURE = False\n",
            "app.config['WTF_CSRF_ENABLED'] = False\n",
            "app.config.update(SESSION_COOKIE_HTTPONLY=False)\n",
        ),
        misses=("SESSION_COOKIE_SECURE = True\n", "SECURE_SSL_REDIRECT = not DEBUG\n", "cookie_secure = False\n"),
    ),
    Rule(
        id="FH523",
        name="django-development",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=489,
        check=django_open,
        on=(assigned("DEBUG ALLOWED_HOSTS"),),
        hits=("INSTALLED_APPS = []\nDEBUG = True\n", "ALLOWED_HOSTS = ['*']\n"),
        misses=("INSTALLED_APPS = []\nDEBUG = False\n", "ALLOWED_HOSTS = ['a.org']\n", "def f():\n    DEBUG = True\n"),
    ),
    Rule(
        id="FH524",
        name="any-origin",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=942,
        check=any_origin,
        on=(
            keywords("allow_origins origins allow_origin_regex"),
            assigned("Access-Control-Allow-Origin access-control-allow-origin"),
        ),
        hits=(
            "app.add_middleware(CORSMiddleware, allow_origins=['*'], allow_credentials=True)\n",
            "from flask_cors import CORS\nCORS(app, origins='*')\n",
            "response.headers['Access-Control-Allow-Origin'] = '*'\n",
        ),
        misses=(
            "app.add_middleware(CORSMiddleware, allow_origins=['https://a.org'])\n",
            "response.headers['Access-Control-Allow-Origin'] = origin\n",
        ),
    ),
    Rule(
        id="FH525",
        name="forms-unchecked",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=352,
        check=forms_unchecked,
        on=(decorated(_EXEMPT),),
        hits=(
            "from django.views.decorators.csrf import csrf_exempt\n@csrf_exempt\ndef view(request): pass\n",
            "@csrf_exempt\ndef view(request): pass\n",
        ),
        misses=("@login_required\ndef view(request): pass\n",),
    ),
)
