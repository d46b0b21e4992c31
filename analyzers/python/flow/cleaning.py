"""What makes a value harmless, and for which kinds of sinks."""

from __future__ import annotations

import re

from analyzers.patterns import lazy
from analyzers.python.flow.values import EVERY


def _table(rows: dict[str, str]) -> dict[str, frozenset[str]]:
    return {name: frozenset(kinds.split()) for names, kinds in rows.items() for name in names.split()}


RAISING = frozenset(
    """
    builtins.int builtins.float builtins.complex uuid.UUID decimal.Decimal ipaddress.ip_address ipaddress.ip_network
    datetime.datetime.strptime datetime.datetime.fromisoformat datetime.date.fromisoformat
    ipaddress.IPv4Address ipaddress.IPv6Address fractions.Fraction
""".split()
)
"""What raises unless it is given a number, a date, an address; that it returned says what it was given."""
CLEANERS = _table(
    {
        "builtins.bool builtins.len builtins.ord builtins.id builtins.hash builtins.round builtins.abs": EVERY,
        "builtins.range builtins.isinstance builtins.type builtins.any builtins.all builtins.hex builtins.sum": EVERY,
        "flask.url_for django.urls.reverse django.shortcuts.resolve_url time.time datetime.datetime.now": EVERY,
        "shlex.quote pipes.quote shlex.join": "shell",
        "html.escape markupsafe.escape flask.escape cgi.escape bleach.clean nh3.clean django.utils.html.escape "
        "django.utils.html.conditional_escape xml.sax.saxutils.escape xml.sax.saxutils.quoteattr "
        "django.utils.html.format_html django.utils.html.strip_tags jinja2.escape werkzeug.utils.escape "
        "tornado.escape.xhtml_escape lxml.html.clean.clean_html bleach.linkify": "html",
        "urllib.parse.quote_plus urllib.quote_plus": "html redirect ssrf header path ldap log shell xpath",
        "urllib.parse.quote urllib.quote urllib.parse.urlencode": "html redirect ssrf header log",
        "werkzeug.utils.secure_filename secure_filename os.path.basename ntpath.basename posixpath.basename "
        "werkzeug.utils.safe_join flask.safe_join django.utils._os.safe_join werkzeug.security.safe_join "
        "pathvalidate.sanitize_filename django.utils.text.get_valid_filename": "path",
        "ldap.filter.escape_filter_chars ldap3.utils.conv.escape_filter_chars ldap.dn.escape_dn_chars "
        "ldap3.utils.dn.escape_rdn ldap.filter.filter_format": "ldap",
        "re.escape": "regex",
        "builtins.repr": "log",
        "django.utils.text.slugify slugify.slugify binascii.hexlify": EVERY,
        "json.dumps": "log",
        "sqlalchemy.sql.quoted_name psycopg2.sql.Identifier psycopg2.sql.Literal psycopg.sql.Identifier "
        "psycopg.sql.Literal psycopg2.sql.SQL pymysql.converters.escape_string pymysql.escape_string": "sql",
    }
)
"""Functions whose result can do no harm in these kinds of sinks."""
METHODS = _table(
    {
        "isdigit isalnum isalpha isnumeric isdecimal isidentifier isspace islower isupper startswith endswith "
        "find index count hexdigest digest is_relative_to exists is_file is_dir bit_length timestamp isoformat": EVERY,
        "mogrify literal escape_string": "sql",
    }
)
"""Methods of whatever object, likewise."""
NORMALIZING = frozenset(
    "os.path.realpath os.path.abspath os.path.normpath pathlib.Path().resolve posixpath.normpath".split()
)
"""After these a path holds no ``..``, so that what it begins with says where it is."""
_SOUND = re.compile(
    r"sanit|escape|_?clean(?:se|ed)?(?:_|$)|quote|purify|neutrali[sz]e|whitelist|allowlist|encode_for", re.IGNORECASE
)
_JUDGE = re.compile(
    r"(?:^|_)(?:is_?)?(?:valid|safe|allowed|permitted|trusted|white_?list|legal|authori[sz]ed)", re.IGNORECASE
)
DANGEROUS = {
    "shell": " ;|&$`<>(){}\n'\"\\*?", "sql": "'\";\\", "path": "/\\", "html": "<>\"'&", "code": "()[]",
    "xpath": "'\"()[]", "ldap": "()*\\\0", "redirect": "/:\\", "ssrf": "/:@", "log": "\n\r", "template": "{}%",
    "regex": "*+({", "nosql": "${}", "trust": "", "pickle": "", "import": "./", "xml": "<&",
}  # fmt: skip
"""For each kind the characters that an attack needs."""
_LOOSE = lazy(r"(?<!\\)(?:\.(?![^\[\]]*\])|\\S|\\W|\\D|\[\^|\[[^\]]*[^A-Za-z0-9\\\[]-[^\]])")
_MOST_PATTERN = 300


def sounds_cleaning(name: str) -> bool:
    """Whether a function that nobody knows says by its name that it makes something harmless."""
    return _SOUND.search(name.rpartition(".")[2]) is not None


def sounds_judging(name: str) -> bool:
    """Whether a function says by its name that it tells what may be."""
    return _JUDGE.search(name.rpartition(".")[2]) is not None


def allowed_by(pattern: str, *, whole: bool) -> frozenset[str]:
    """The kinds of sinks that no text can harm which matches the pattern from its beginning to its end."""
    if len(pattern) > _MOST_PATTERN:
        return frozenset()
    body = pattern
    if not whole:
        if not body.endswith(("$", r"\Z", r"\z")) or body.endswith(r"\$"):
            return frozenset()
        body = body.removesuffix("$").removesuffix(r"\Z").removesuffix(r"\z")
    body = body.removeprefix("^").removeprefix(r"\A").removesuffix("$")
    if _LOOSE.search(body):
        return frozenset()
    plain = _admitted(body)
    return frozenset(kind for kind, characters in DANGEROUS.items() if not any(one in plain for one in characters))


def removed_by(pattern: str) -> frozenset[str]:
    """The kinds of sinks that no text can harm from which everything was taken that matches the pattern."""
    body = pattern.removesuffix("+").removesuffix("*")
    if not (body.startswith("[^") and body.endswith("]")) or len(body) > _MOST_PATTERN:
        return frozenset()
    plain = _admitted(f"[{body[2:-1]}]")
    return frozenset(kind for kind, characters in DANGEROUS.items() if not any(one in plain for one in characters))


def _admitted(body: str) -> str:
    """The dangerous characters that a pattern names, in its classes or outside."""
    named = []
    escaped = in_class = False
    for character in body:
        if escaped:
            escaped = False
            if character == "s":
                named.append(" \n")
            elif not character.isalnum():
                named.append(character)
        elif character == "\\":
            escaped = True
        elif in_class:
            in_class = character != "]"
            if in_class:
                named.append(character)
        elif character == "[":
            in_class = True
        elif character not in "(){}*+?|^$.,":
            named.append(character)
    return "".join(named)
