"""Rules about encrypted connections: who is at the other end, and how well what is said is hidden."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from analyzers.model import Confidence, Severity
from analyzers.python.interests import assigned, calls, keywords, mentions, methods
from analyzers.python.names import origins
from analyzers.python.scopes import Scope
from analyzers.python.values import argument, fold, is_false, keyword
from analyzers.rule import Hit, Rule

_CLIENTS = ("requests.", "httpx.", "aiohttp.", "urllib3.", "websockets.", "botocore.", "boto3.")
_VERBS = frozenset("get post put patch delete head options request stream send send_request Session Client".split(" "))
_FLAGS = frozenset({"verify", "verify_ssl", "ssl_verify", "verify_certs", "validate_certs", "check_hostname"})
_BAD_VERSIONS = " ".join(
    (
        *(f"ssl.PROTOCOL_{name}" for name in ("SSLv2", "SSLv3", "SSLv23", "TLSv1", "TLSv1_1")),
        *(
            f"{package}.{name}_METHOD"
            for package in ("OpenSSL.SSL", "pyOpenSSL.SSL", "SSL")
            for name in ("SSLv2", "SSLv3", "SSLv23", "TLSv1", "TLSv1_1")
        ),
        *(f"ssl.TLSVersion.{name}" for name in ("SSLv3", "TLSv1", "TLSv1_1")),
    )
)
_SHELL_POLICIES = frozenset({"AutoAddPolicy", "WarningPolicy"})


def not_verified(node: ast.Call | ast.Assign, at: Scope) -> Iterator[Hit]:
    """The certificate of the other end is not checked: anybody between can read and change what is said.

    Leave ``verify`` out. For a certificate of your own give its authority: ``verify="/path/ca.pem"``.
    """
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr in _FLAGS and is_false(node.value, at):
                if target.attr == "verify" and not _is_client(target.value, at):
                    continue
                if target.attr == "check_hostname":
                    message = "check_hostname = False: a certificate for any host will do"
                    yield at.hit(node, message, severity=Severity.MEDIUM, also=())
                else:
                    yield at.hit(node, f"{target.attr} = False: the certificate is not checked")
        return
    names = origins(node.func, at)
    word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    known = any(name.startswith(_CLIENTS) for name in names)
    for flag in node.keywords:
        if flag.arg in _FLAGS and is_false(flag.value, at) and isinstance(fold(flag.value, at), (bool, int)):
            if flag.arg == "verify" and not known and word not in _VERBS:
                continue
            confidence = None if known else Confidence.MEDIUM
            yield at.hit(node, f"{flag.arg}=False: the certificate is not checked", confidence=confidence)
            return
    if any(name.startswith("aiohttp.") for name in names) and fold(keyword(node, "ssl"), at) is False:
        yield at.hit(node, "ssl=False: the certificate is not checked", also=())


def _is_client(node: ast.expr, at: Scope) -> bool:
    names = origins(node, at)
    word = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return any(name.startswith(_CLIENTS) for name in names) or any(
        part in word.lower() for part in ("session", "client")
    )


def unverified_context(node: ast.expr, at: Scope) -> Iterator[Hit]:
    """A TLS context that checks no certificate: anybody between can read and change what is said.

    Use ``ssl.create_default_context()``, and load your own authority into it where there is one.
    """
    yield at.hit(node, "this context checks no certificate")


def checks_off(node: ast.Call | ast.Assign, at: Scope) -> Iterator[Hit]:
    """A TLS context or connection is told not to check the certificate or whose it is.

    ``ssl.create_default_context`` has ``verify_mode`` and ``check_hostname`` right: leave them.
    """
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == "verify_mode" and _is_none(node.value, at):
                yield at.hit(node, "the certificate is not checked")
    elif _is_none(keyword(node, "cert_reqs"), at):
        yield at.hit(node, "the certificate is not checked")


def _is_none(value: ast.expr | None, at: Scope) -> bool:
    return value is not None and ("ssl.CERT_NONE" in origins(value, at) or fold(value, at) == "CERT_NONE")


def old_protocol(node: ast.expr, at: Scope) -> Iterator[Hit]:
    """A version of SSL or TLS that is broken or given up: SSL 2 and 3, TLS 1.0 and 1.1.

    Use ``ssl.PROTOCOL_TLS_CLIENT``, or ``ssl.create_default_context()``, which wants TLS 1.2 at least.
    """
    name = next((one for one in origins(node, at) if one in _BAD), "")
    yield at.hit(node, f"{name.rpartition('.')[2]} is broken or given up")


_BAD = frozenset(_BAD_VERSIONS.split(" "))


def no_protocol(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """``ssl.wrap_socket`` without a version takes what the other end offers, and checks nothing.

    It was removed in Python 3.12. Use ``ssl.create_default_context().wrap_socket(sock, server_hostname=host)``.
    """
    if keyword(call, "ssl_version") is None:
        yield at.hit(call, "wrap_socket without a version takes any")


def host_key_unchecked(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """An SSH client accepts the key of any host, so that anybody between can play the host.

    Load the keys that you know (``load_system_host_keys``), and use ``RejectPolicy``.
    """
    policy = argument(call, 0, "policy")
    function = policy.func if isinstance(policy, ast.Call) else policy
    known = at.tree.imports("paramiko") or at.tree.imports("fabric") or at.tree.imports("netmiko")
    names = () if function is None else origins(function, at)
    if any(name.rpartition(".")[2] in _SHELL_POLICIES for name in names) and (known or "paramiko" in " ".join(names)):
        receiver = origins(call.func, at)
        unknown = bool(receiver) and not any("paramiko" in name or "SSHClient" in name for name in receiver)
        yield at.hit(call, "the key of the host is not checked", confidence=Confidence.LOW if unknown else None)


def warnings_hidden(call: ast.Call, at: Scope) -> Iterator[Hit]:
    """The warnings about unchecked certificates are switched off, which is done where they are not checked.

    Check the certificates, and there is nothing to warn of.
    """
    category = argument(call, 0, "category")
    names = () if category is None else origins(category, at)
    if category is None or any(name.endswith("InsecureRequestWarning") for name in names):
        yield at.hit(call, "warnings about unchecked certificates are hidden")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH501",
        name="certificate-unchecked",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=295,
        check=not_verified,
        on=(keywords(" ".join((*_FLAGS, "ssl"))), assigned(" ".join(_FLAGS))),
        also=("B501",),
        hits=(
            "import requests\nrequests.get(url, verify=False)\n",
            "import httpx\nhttpx.Client(verify=False)\n",
            "import requests\ns = requests.Session()\ns.verify = False\n",
            "session.post(url, data=d, verify=False)\n",
            "import aiohttp\naiohttp.TCPConnector(ssl=False)\n",
            "import ssl\nc = ssl.create_default_context()\nc.check_hostname = False\n",
        ),
        misses=(
            "import requests\nrequests.get(url, verify=True)\n",
            "import requests\nrequests.get(url, verify='/ca.pem')\n",
            "form.save(verify=False)\n",
            "user.verify = False\n",
        ),
    ),
    Rule(
        id="FH502",
        name="unverified-context",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=295,
        check=unverified_context,
        on=(mentions("ssl._create_unverified_context"),),
        also=("B323",),
        hits=(
            "import ssl\nssl._create_unverified_context()\n",
            "import ssl\nssl._create_default_https_context = ssl._create_unverified_context\n",
        ),
        misses=("import ssl\nssl.create_default_context()\n",),
    ),
    Rule(
        id="FH503",
        name="certificate-optional",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=295,
        check=checks_off,
        on=(keywords("cert_reqs"), assigned("verify_mode")),
        hits=(
            "import ssl\nc = ssl.SSLContext()\nc.verify_mode = ssl.CERT_NONE\n",
            "import ssl, urllib3\nurllib3.PoolManager(cert_reqs=ssl.CERT_NONE)\n",
            "import urllib3\nurllib3.PoolManager(cert_reqs='CERT_NONE')\n",
        ),
        misses=(
            "import ssl\nc = ssl.SSLContext()\nc.verify_mode = ssl.CERT_REQUIRED\n",
            "import ssl\nif c.verify_mode == ssl.CERT_NONE:\n    pass\n",
        ),
    ),
    Rule(
        id="FH504",
        name="old-protocol",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=327,
        check=old_protocol,
        on=(mentions(_BAD_VERSIONS),),
        also=("B502", "B503"),
        hits=(
            "import ssl\nssl.wrap_socket(ssl_version=ssl.PROTOCOL_SSLv3)\n",
            "from ssl import PROTOCOL_TLSv1\ndef f(version=PROTOCOL_TLSv1): pass\n",
            "from OpenSSL import SSL\nSSL.Context(method=SSL.SSLv23_METHOD)\n",
            "import ssl\nc.minimum_version = ssl.TLSVersion.TLSv1\n",
        ),
        misses=(
            "import ssl\nssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n",
            "import ssl\nc.minimum_version = ssl.TLSVersion.TLSv1_2\n",
        ),
    ),
    Rule(
        id="FH505",
        name="protocol-unset",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=327,
        check=no_protocol,
        on=(calls("ssl.wrap_socket"),),
        also=("B504",),
        hits=("import ssl\nssl.wrap_socket(s)\n", "from ssl import wrap_socket\nwrap_socket()\n"),
        misses=("import ssl\nssl.create_default_context().wrap_socket(s)\n", "a.wrap_socket(s)\n"),
    ),
    Rule(
        id="FH506",
        name="host-key-unchecked",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=295,
        check=host_key_unchecked,
        on=(methods("set_missing_host_key_policy"),),
        also=("B507",),
        hits=(
            "import paramiko\nc = paramiko.SSHClient()\nc.set_missing_host_key_policy(paramiko.AutoAddPolicy())\n",
            "from paramiko import client as p\nc = p.SSHClient()\nc.set_missing_host_key_policy(p.WarningPolicy)\n",
        ),
        misses=(
            "import paramiko\nc = paramiko.SSHClient()\nc.set_missing_host_key_policy(paramiko.RejectPolicy())\n",
            "c.set_missing_host_key_policy(mine)\n",
        ),
    ),
    Rule(
        id="FH507",
        name="warnings-hidden",
        severity=Severity.LOW,
        confidence=Confidence.HIGH,
        cwe=295,
        check=warnings_hidden,
        on=(
            calls(
                "urllib3.disable_warnings requests.packages.urllib3.disable_warnings requests.urllib3.disable_warnings"
            ),
        ),
        hits=(
            "import urllib3\nurllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)\n",
            "import urllib3\nurllib3.disable_warnings()\n",
        ),
        misses=(
            "import warnings\nwarnings.simplefilter('ignore')\n",
            "import urllib3\nurllib3.disable_warnings(urllib3.exceptions.SubjectAltNameWarning)\n",
        ),
    ),
)
