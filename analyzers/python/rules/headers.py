"""Rules about the headers of an answer: protections of the browser that are switched off or left open."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.interests import assigned, decorated
from analyzers.python.scopes import Scope
from analyzers.python.values import fold
from analyzers.rule import Hit, Rule

_HEADERS = "Content-Security-Policy X-Frame-Options X-Content-Type-Options Strict-Transport-Security Set-Cookie"
_SETTINGS = "X_FRAME_OPTIONS SESSION_COOKIE_SAMESITE CSRF_COOKIE_SAMESITE SECURE_HSTS_SECONDS"
_LOOSE_SOURCES = frozenset({"*", "'unsafe-inline'", "'unsafe-eval'", "data:", "http:"})
_EXEMPT = (
    "django.views.decorators.clickjacking.xframe_options_exempt flask_talisman.Talisman().exempt xframe_options_exempt"
)


def header_open(node: ast.Assign, at: Scope) -> Iterator[Hit]:
    """A header gives up what the browser would do to protect its user.

    ``Content-Security-Policy`` with ``*``, ``'unsafe-inline'`` or ``'unsafe-eval'`` lets script of others run,
    ``X-Frame-Options: ALLOWALL`` lets any page put this one into a frame, ``Strict-Transport-Security: max-age=0``
    lets the next visit begin without TLS, and a ``Set-Cookie`` written by hand without ``Secure`` and ``HttpOnly`` can
    be read on the way and by script. The settings of Django and Flask of the same meaning count as well.
    """
    value = fold(node.value, at)
    for target in node.targets:
        name = _name(target)
        problem = _problem(name.lower(), value)
        if problem:
            yield at.hit(node, f"{name[:40]}: {problem}")
            return


def _name(target: ast.expr) -> str:
    match target:
        case ast.Name(id=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case _:
            return ""


def _problem(name: str, value: object) -> str:
    if name in {"session_cookie_samesite", "csrf_cookie_samesite"}:
        return "other sites' pages may send this cookie" if value in {None, "None"} else ""
    if name == "secure_hsts_seconds":
        return "the next visit may begin without TLS" if value == 0 and value is not False else ""
    if not isinstance(value, str):
        return ""
    text = value.lower()
    match name:
        case "content-security-policy":
            loose = sorted(_LOOSE_SOURCES.intersection(_script_sources(text)))
            return f"{loose[0]} lets script of others run" if loose else ""
        case "x-frame-options" | "x_frame_options":
            return "" if text in {"deny", "sameorigin"} else "any page may put this one into a frame"
        case "x-content-type-options":
            return "" if text == "nosniff" else "the browser may guess what a file is"
        case "strict-transport-security":
            return "the next visit may begin without TLS" if "max-age=0" in text.replace(" ", "") else ""
        case "set-cookie":
            missing = [flag for flag in ("secure", "httponly") if flag not in text]
            return f"{' and '.join(missing)} left out for this cookie" if missing and "=" in text else ""
        case _:
            return ""


def _script_sources(policy: str) -> list[str]:
    """What a policy allows for script: its ``script-src``, or else its ``default-src``."""
    parts = {words[0]: words[1:] for part in policy.split(";")[:40] if (words := part.split())}
    return parts.get("script-src", parts.get("default-src", []))


def frames_allowed(decorator: ast.expr, at: Scope) -> Iterator[Hit]:
    """A view is exempt from the header that keeps other sites from putting it into a frame.

    A page of theirs can lay it under its own buttons, so that a click on one does something here. Allow the origins
    that need it by ``Content-Security-Policy: frame-ancestors``.
    """
    yield at.hit(decorator, "any page may put this view into a frame")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH526",
        name="header-open",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=693,
        check=header_open,
        on=(assigned(f"{_HEADERS} {_HEADERS.lower()} {_SETTINGS}"),),
        hits=(
            "response.headers['Content-Security-Policy'] = \"default-src *\"\n",
            "r.headers['X-Frame-Options'] = 'ALLOWALL'\n",
            "r.headers['Set-Cookie'] = 'session=1; Path=/'\n",
            "SESSION_COOKIE_SAMESITE = None\n",
            "app.config['SESSION_COOKIE_SAMESITE'] = None\n",
        ),
        misses=(
            "response.headers['Content-Security-Policy'] = \"default-src 'self'\"\n",
            "r.headers['X-Frame-Options'] = 'DENY'\n",
            "r.headers['Set-Cookie'] = 'session=1; Secure; HttpOnly'\n",
            "r.headers['Content-Security-Policy'] = policy\n",
            "SESSION_COOKIE_SAMESITE = 'Lax'\n",
            "SECURE_HSTS_SECONDS = 3600\n",
        ),
    ),
    Rule(
        id="FH527",
        name="frames-allowed",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=1021,
        check=frames_allowed,
        on=(decorated(_EXEMPT),),
        hits=(
            (
                "from django.views.decorators.clickjacking import xframe_options_exempt\n"
                "@xframe_options_exempt\ndef view(request): pass\n"
            ),
        ),
        misses=(
            (
                "from django.views.decorators.clickjacking import xframe_options_deny\n"
                "@xframe_options_deny\ndef view(request): pass\n"
            ),
        ),
    ),
)
