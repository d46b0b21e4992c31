"""Places that carry credentials whatever these look like: URLs, Basic headers, curl's arguments, Kubernetes secrets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from analyzers.credentials import holds_secret
from analyzers.placeholders import is_placeholder, is_random

Carried = tuple[int, int, str, str]
"""Start, end, kind and rule."""

_URL_USER = re.compile(r"[^\s:/@\"'`<>]{0,80}:([^\s/@\"'`<>]{1,200})@([A-Za-z0-9.\-_\[{$]{1,200})")
_URL_REST = re.compile(r"[^\s\"'`<>]{1,2000}")
_QUERY = re.compile(r"[?&;]([A-Za-z_][\w.-]{1,40})=([^&#;\s\"'`<>]{6,400})")
_URL_KEY = re.compile(r"/([0-9a-f]{64}|[0-9a-f]{40})(?=[/?#\s\"'`]|$)")
_KEYED_HOSTS = ("api.softlayer.com/soap/", "mainnet.infura.io/", "sentry.io/api/hooks/")
_BASIC = re.compile(r"(?i:basic)[ ]{1,3}([A-Za-z0-9+/_-]{8,4000}={0,2})(?![A-Za-z0-9+/=])")
_ARGUMENT = r"""(?:"([^"\n]{3,200})"|'([^'\n]{3,200})'|([^\s"'<>|;&]{3,200}))"""
_CURL_USER = re.compile(
    rf"[ \t\n](?:-u|--user|--proxy-user|-U)(?:=|[ \t]{{0,8}}){_ARGUMENT}"
    r"""(?::?(?:"([^"\n]{1,200})"|'([^'\n]{1,200})'))?"""
)
_CURL_REACH = 3000
_SSHPASS = re.compile(rf"sshpass[ \t]{{1,8}}-p[ \t]{{0,8}}{_ARGUMENT}")
_MYSQL = re.compile(rf"mysql(?:dump|admin|import|show)?[ \t](?:[^|;&\n]{{0,300}}?[ \t])?-p{_ARGUMENT}")
_HEADER = re.compile(
    r"""(?:-H|--header)(?:=|[ \t]{0,8})["']([A-Za-z][A-Za-z0-9-]{1,60}):[ \t]{0,8}([^"'\n]{4,4000})["']"""
)
_SCHEME = re.compile(r"(?:Basic|Bearer|Token|Api-Token|Api-Key|ApiKey)[ ]{1,3}", re.IGNORECASE)
_HEADER_VALUE = re.compile(r"[\w=~@.+/#-]{8,4000}")
_WEAK_WORDS = frozenset({"password", "passwd", "pass", "pwd", "secret", "pw", "token", "test", "user"})
_WEAK_VALUE = re.compile(r"(?:change(?:it|me)|pass(?:word)?|pwd|test|token|secret|\*+|x+|y+)", re.IGNORECASE)
_KIND = re.compile(r"""^[ \t]{0,8}kind:[ \t]{0,8}["']?secret["']?[ \t]*$""", re.IGNORECASE | re.MULTILINE)
_ENTRY = re.compile(
    r"""([ \t]*)["']?([\w.-]{1,200})["']?:[ \t]*(?:["']?([A-Za-z0-9+/]{10,}={0,3})["']?)?[ \t]*([|>]-?)?[ \t]*$"""
)
_BLOCK = re.compile(r"[ \t]+([A-Za-z0-9+/]{10,}={0,3})[ \t]*$")


def find(text: str) -> Iterator[Carried]:
    """Every credential that stands in such a place."""
    if "://" in text:
        yield from _in_urls(text)
    if "asic " in text:
        yield from _in_basic_headers(text)
    if "curl" in text:
        yield from _in_curl(text)
    if "sshpass" in text:
        yield from _in_command(text, _SSHPASS, "password of sshpass")
    if "mysql" in text:
        yield from _in_command(text, _MYSQL, "password of mysql")
    if "kind:" in text:
        yield from _in_kubernetes(text)


def _in_urls(text: str) -> Iterator[Carried]:
    at, done = text.find("://"), 0
    while at >= 0:
        at += 3
        match = _URL_USER.match(text, at)
        if match and text[at - 4 : at - 3].isalnum():
            if _opens(text[at : match.start(1) - 1], match[1], match[2]):
                yield match.start(1), match.end(1), "password in a URL", "FH204"
        elif at >= done and (rest := _URL_REST.match(text, at)):
            # A URL inside another's query belongs to the other's.
            done = rest.end()
            yield from _in_query(text, at, rest[0])
        at = text.find("://", at)


def _opens(user: str, password: str, host: str) -> bool:
    local = host.rsplit(".", maxsplit=1)[-1] in {"localhost", "example", "test", "invalid"} or "example." in host
    weak = password.lower() == user.lower() and (local or host.startswith("127."))
    return not (weak or password.lower() in _WEAK_WORDS or is_placeholder(password) or host[0] in "{$")


def _in_query(text: str, at: int, rest: str) -> Iterator[Carried]:
    if "=" in rest:
        for match in _QUERY.finditer(text, at, at + len(rest)):
            name = "api_key" if match[1].lower() == "key" else match[1]
            if is_random(match[2], 16) and holds_secret(name, match[2]):
                yield match.start(2), match.end(2), "credential in a URL", "FH204"
    if rest.startswith(_KEYED_HOSTS):
        for match in _URL_KEY.finditer(text, at, at + len(rest)):
            yield match.start(1), match.end(1), "credential in a URL", "FH204"


def _in_basic_headers(text: str) -> Iterator[Carried]:
    for match in _BASIC.finditer(text):
        user, colon, password = _decoded(match[1]).partition(":")
        if colon and user.isprintable() and password and password.isprintable() and not is_placeholder(password):
            yield match.start(1), match.end(1), "Basic authorization header", "FH205"


def _decoded(encoded: str) -> str:
    encoded = encoded.rstrip("=")
    if len(encoded) % 4 == 1:
        return ""
    try:
        return base64.urlsafe_b64decode((encoded + "=" * (-len(encoded) % 4)).translate({43: "-", 47: "_"})).decode()
    except (binascii.Error, ValueError):
        return ""


def _in_curl(text: str) -> Iterator[Carried]:
    """The arguments of each call of curl, which may go on over lines that end in a backslash."""
    at = text.find("curl")
    while at >= 0:
        if text[at - 1 : at].isalnum():
            at = text.find("curl", at + 4)
            continue
        end = _command_end(text, at)
        for match in _CURL_USER.finditer(text, at, end):
            yield from _curl_user(match)
        for match in _HEADER.finditer(text, at, end):
            yield from _curl_header(match)
        at = text.find("curl", max(end, at + 4))


def _command_end(text: str, at: int) -> int:
    last = min(len(text), at + _CURL_REACH)
    end = text.find("\n", at, last)
    while 0 <= end < last:
        line = text[text.rfind("\n", at, end) + 1 : end].rstrip()
        following = text[end + 1 : end + 40].lstrip(" \t#")
        if not line.endswith("\\") and not following.startswith(("-H", "-u", "--")):
            return end
        end = text.find("\n", end + 1, last)
    return last


def _curl_user(match: re.Match[str]) -> Iterator[Carried]:
    which = next(index for index in (1, 2, 3) if match[index] is not None)
    user, colon, password = match[which].partition(":")
    start, end = match.start(which) + len(user) + 1, match.end(which)
    for quoted in (4, 5):
        if match[quoted] is not None:
            password, colon = match[quoted], ":"
            start, end = match.span(quoted)
    if not colon or (not password and not user):
        return
    if not password:
        password, start, end = user, match.start(which), match.start(which) + len(user)
    if password[0] in "$<[" or (password[0] == "{" and "{" in password[1:]) or _WEAK_VALUE.fullmatch(password):
        return
    if not is_placeholder(password.strip("{}")):
        yield start, end, "password of curl", "FH207"


def _curl_header(match: re.Match[str]) -> Iterator[Carried]:
    name, value = match[1], match[2]
    scheme = _SCHEME.match(value)
    if scheme and scheme[0].lower().startswith("basic"):
        return
    start = match.start(2) + (scheme.end() if scheme else 0)
    body = _HEADER_VALUE.match(match[2][scheme.end() if scheme else 0 :].strip())
    telling = name.lower() == "authorization" or name.lower().endswith(("key", "token", "secret"))
    if body and telling and body.end() == len(match[2][scheme.end() if scheme else 0 :].strip()):
        token = body[0]
        if any(character.isdigit() for character in token) and not is_placeholder(token):
            yield start, start + len(match[2]) - (scheme.end() if scheme else 0), "header of curl", "FH207"


def _in_command(text: str, pattern: re.Pattern[str], kind: str) -> Iterator[Carried]:
    for match in pattern.finditer(text):
        which = next(index for index in (1, 2, 3) if match[index] is not None)
        if match[which][0] not in "$<[{" and not is_placeholder(match[which]):
            yield *match.span(which), kind, "FH207"


def _in_kubernetes(text: str) -> Iterator[Carried]:
    """Values under ``data:`` of a manifest whose kind is Secret: base64 hides nothing."""
    if not _KIND.search(text):
        return
    at = 0
    for manifest in text.split("\n---"):
        if _KIND.search(manifest):
            yield from _in_manifest(manifest, at)
        at += len(manifest) + 4


def _in_manifest(manifest: str, at: int) -> Iterator[Carried]:
    depth: int | None = None
    in_block = False
    for line in manifest.split("\n"):
        start, at = at, at + len(line) + 1
        indent = len(line) - len(line.lstrip(" \t"))
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if depth is not None and indent <= depth:
            depth, in_block = None, False
        if depth is None:
            if stripped in {"data:", "'data':", '"data":'}:
                depth = indent
            continue
        if in_block and (block := _BLOCK.match(line)):
            yield from _encoded(block.group(1), start + block.start(1))
            continue
        entry = _ENTRY.match(line) if len(line) < _CURL_REACH else None
        in_block = bool(entry and entry[4])
        if entry and entry[3]:
            yield from _encoded(entry[3], start + entry.start(3))


def _encoded(value: str, start: int) -> Iterator[Carried]:
    if len(value) % 4 == 0 and not is_placeholder(value):
        yield start, start + len(value), "value of a Kubernetes secret", "FH202"
