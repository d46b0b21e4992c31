"""Rules about the network: who may connect, what is fetched, and protocols that hide nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.fixed import is_fixed
from analyzers.python.interests import calls, methods, texts
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, fold, is_literal, keyword, text_of
from analyzers.rule import Hit, Rule

_VERBS = ("get", "options", "head", "post", "put", "patch", "delete", "request")
_REQUESTS = " ".join(
    f"{owner}.{verb}"
    for owner in ("requests", "requests.api", "requests.Session()", "requests.session()", "requests.sessions.Session()")
    for verb in _VERBS
)
_HTTPX = " ".join(f"httpx.{verb}" for verb in (*_VERBS, "stream", "Client", "AsyncClient"))
_OPENERS = """
    urllib.urlopen urllib.request.urlopen urllib.urlretrieve urllib.request.urlretrieve urllib.URLopener
    urllib.request.URLopener urllib.FancyURLopener urllib.request.FancyURLopener urllib2.urlopen urllib2.Request
    urllib.request.Request six.moves.urllib.request.urlopen six.moves.urllib.request.urlretrieve
    six.moves.urllib.request.URLopener six.moves.urllib.request.FancyURLopener six.moves.urllib.request.Request
    urllib.request.URLopener().open urllib.request.FancyURLopener().open urllib.request.URLopener().retrieve
"""
_SNMP = tuple(
    f"pysnmp.hlapi.{place}" if place else "pysnmp.hlapi"
    for place in (
        "", "asyncio", "auth", "v1arch", "v1arch.asyncio", "v1arch.asyncio.auth", "v3arch", "v3arch.asyncio",
        "v3arch.asyncio.auth",
    )
)  # fmt: skip
_OLD_MODELS = (0, 1)
_PRIVATE_SNMP = 3


def all_interfaces(node: ast.Constant, at: Scope) -> Iterator[Hit]:
    """``0.0.0.0`` means every network this machine is in.

    A service that listens there can be reached by everybody who can reach the machine. For local use bind to
    ``127.0.0.1``; in a container, where this address is usual, let the container's settings decide who reaches it.
    """
    if node.value == "0.0.0.0":  # noqa: S104 - this is what is looked for
        yield at.hit(node, "every network this machine is in can reach what listens here")


def all_interfaces_bound(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A socket is bound to the empty address, which means every network this machine is in.

    Bind to ``127.0.0.1`` for local use.
    """
    address = argument(call, 0)
    if isinstance(address, ast.Tuple) and address.elts and fold(address.elts[0], at) in {"", "::"}:
        yield at.hit(call, "every network this machine is in can reach this socket")


def no_timeout(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A request that waits for ever: a server that never answers stops this program.

    Give it a ``timeout`` in seconds. ``requests`` has none by default; ``httpx`` has 5 seconds unless it is told None.
    """
    timeout = keyword(call, "timeout")
    if timeout is None:
        known = any(name.startswith("requests.") for name in origins(call.func, at))
        if known and all(one.arg is not None for one in call.keywords):
            yield at.hit(call, "without a timeout this waits for ever")
    elif fold(timeout, at) is None:
        yield at.hit(call, "timeout=None waits for ever")


def url_opened(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``urllib`` opens ``file:`` and other addresses too: whoever chooses the address can read files of this machine.

    Check that an address from outside begins with ``https://`` and names a host you expect, or use ``requests``, which
    speaks HTTP alone.
    """
    url = argument(call, 0, "url") or keyword(call, "fullurl")
    if isinstance(url, ast.Call) and any(name.endswith(".Request") for name in origins(url.func, at)):
        url = argument(url, 0, "url")
    text = text_of(url, at) if url is not None else None
    if text is None and url is not None:
        text = _beginning(url)
    if text is not None and text.lower().startswith(("http://", "https://")):
        if all(one.arg is not None for one in call.keywords):
            return
        url = None
    severity = Severity.INFO if url is None or (is_fixed(url, at) and not is_literal(url)) else None
    yield at.hit(call, "file: and other addresses are opened too", severity=severity)


def _beginning(node: ast.expr) -> str | None:
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def telnet_used(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """Telnet sends everything, passwords too, so that anybody between can read and change it.

    Use SSH.
    """
    yield at.hit(call, "Telnet hides nothing from who is between")


def ftp_used(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """FTP sends everything, passwords too, so that anybody between can read and change it.

    Use SFTP, or HTTPS; ``ftplib.FTP_TLS`` with ``prot_p()`` where it has to be FTP.
    """
    if not any(name.startswith("ftplib.FTP_TLS") for name in origins(call.func, at)):
        yield at.hit(call, "FTP hides nothing from who is between")


def snmp_version(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """SNMP version 1 and 2c: the community string is all there is to know, and it is sent in the clear.

    Use version 3: ``UsmUserData`` with keys for authentication and privacy.
    """
    if fold(keyword(call, "mpModel"), at) in _OLD_MODELS and fold(keyword(call, "mpModel"), at) is not False:
        yield at.hit(call, "SNMP 1 and 2c send their only secret in the clear")


def snmp_unencrypted(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """SNMP version 3 without a key for authentication or for privacy.

    Give ``UsmUserData`` both keys.
    """
    names = {one.arg for one in call.keywords}
    if len(call.args) < _PRIVATE_SNMP and not {"authKey", "privKey"} <= names:
        yield at.hit(call, "without both keys SNMP is neither authenticated nor private")


def logging_listens(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``logging.config.listen`` evaluates parts of the configuration that any local process may send.

    Give it ``verify``, a function that checks a signature of what came.
    """
    if keyword(call, "verify") is None:
        yield at.hit(call, "what is sent to this port is evaluated in part")


def login_in_clear(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """A user and password are sent to an ``http:`` address, so that anybody between can read them.

    Use ``https:``.
    """
    url = text_of(argument(call, 0, "url"), at) or _beginning(argument(call, 0, "url") or call) or ""
    local = any(host in url for host in ("://localhost", "://127.", "://[::1]"))
    if url.startswith("http://") and not local and keyword(call, "auth") is not None:
        yield at.hit(call, "the login is sent in the clear")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH510",
        name="all-interfaces",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=605,
        check=all_interfaces,
        on=(texts("0.0.0.0"),),  # noqa: S104 - this is what is looked for
        also=("B104",),
        hits=("app.run(host='0.0.0.0')\n", "s.bind(('0.0.0.0', 80))\n", "HOST = '0.0.0.0'\n"),
        misses=("app.run(host='127.0.0.1')\n", "version = '10.0.0.0'\n", "# 0.0.0.0\n"),
    ),
    Rule(
        id="FH511",
        name="all-interfaces-bound",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=605,
        check=all_interfaces_bound,
        on=(methods("bind"),),
        hits=("import socket\ns = socket.socket()\ns.bind(('', 8000))\n", "s.bind(('::', 80))\n"),
        misses=("s.bind(('127.0.0.1', 80))\n", "s.bind(address)\n", "s.bind('/run/socket')\n"),
    ),
    Rule(
        id="FH512",
        name="no-timeout",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=400,
        check=no_timeout,
        on=(calls(f"{_REQUESTS} {_HTTPX}"),),
        also=("B113",),
        hits=(
            "import requests\nrequests.get(url)\n",
            "import requests as r\nr.post(url, timeout=None)\n",
            "import requests\ns = requests.Session()\ns.get(url)\n",
            "import httpx\nhttpx.Client(timeout=None)\n",
        ),
        misses=(
            "import requests\nrequests.get(url, timeout=5)\n",
            "import httpx\nhttpx.get(url)\n",
            "import requests\nrequests.get(url, **options)\n",
            "cache.get(url)\n",
        ),
    ),
    Rule(
        id="FH513",
        name="url-opened",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=22,
        check=url_opened,
        on=(calls(_OPENERS),),
        also=("B310",),
        hits=(
            "import urllib.request\nurllib.request.urlopen(url)\n",
            "from urllib.request import urlretrieve\nurlretrieve(f'{base}/x', 'x')\n",
            "import urllib.request\nurllib.request.urlopen('file:///etc/passwd')\n",
        ),
        misses=(
            "import urllib.request\nurllib.request.urlopen('https://here/x')\n",
            "import urllib.request\nurllib.request.urlopen(f'https://here/{x}')\n",
            "import urllib.request\nu = 'https://here'\nurllib.request.urlopen(urllib.request.Request(u))\n",
        ),
    ),
    Rule(
        id="FH514",
        name="telnet-used",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=319,
        check=telnet_used,
        on=(calls("telnetlib.*"),),
        also=("B312",),
        hits=("import telnetlib\ntelnetlib.Telnet(host)\n", "from telnetlib import Telnet as T\nT(host)\n"),
        misses=("import ssh\nssh.Telnet(host)\n",),
    ),
    Rule(
        id="FH515",
        name="ftp-used",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=319,
        check=ftp_used,
        on=(calls("ftplib.*"),),
        also=("B321",),
        hits=("import ftplib\nftplib.FTP(host)\n", "from ftplib import FTP\nFTP(host)\n"),
        misses=("import ftplib\nftplib.FTP_TLS(host)\n", "FTP = 1\n"),
    ),
    Rule(
        id="FH516",
        name="snmp-version",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=319,
        check=snmp_version,
        on=(calls(" ".join(f"{place}.CommunityData" for place in _SNMP)),),
        also=("B508",),
        hits=("from pysnmp.hlapi import CommunityData\nCommunityData('public', mpModel=0)\n",),
        misses=("from pysnmp.hlapi import CommunityData\nCommunityData('public', mpModel=2)\n",),
    ),
    Rule(
        id="FH517",
        name="snmp-unencrypted",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=319,
        check=snmp_unencrypted,
        on=(calls(" ".join(f"{place}.UsmUserData" for place in _SNMP)),),
        also=("B509",),
        hits=("from pysnmp.hlapi import UsmUserData\nUsmUserData('user', 'auth')\n",),
        misses=("from pysnmp.hlapi import UsmUserData\nUsmUserData('user', 'auth', 'priv')\n",),
    ),
    Rule(
        id="FH518",
        name="logging-listens",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=94,
        check=logging_listens,
        on=(calls("logging.config.listen"),),
        also=("B612",),
        hits=("import logging.config\nlogging.config.listen(9999)\n",),
        misses=("import logging.config\nlogging.config.listen(9999, verify=check)\n",),
    ),
    Rule(
        id="FH519",
        name="login-in-clear",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=319,
        check=login_in_clear,
        on=(calls(f"{_REQUESTS} {_HTTPX}"),),
        hits=(
            "import requests\nrequests.get('http://intra/x', auth=(user, word), timeout=1)\n",
            "import httpx\nhttpx.get(f'http://{host}/x', auth=a)\n",
        ),
        misses=(
            "import requests\nrequests.get('https://intra/x', auth=(user, word), timeout=1)\n",
            "import requests\nrequests.get('http://localhost/x', auth=(user, word), timeout=1)\n",
            "import requests\nrequests.get('http://intra/x', timeout=1)\n",
        ),
    ),
)
