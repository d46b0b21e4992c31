"""Rules about encrypted connections: TLS, SSH, gRPC, and signed tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzers.golang.program import Program
from analyzers.golang.seen import Call
from analyzers.model import Confidence, Severity
from analyzers.rule import Hit, Rule

if TYPE_CHECKING:
    from tree_sitter import Node

_CONFIG = "crypto/tls.Config"
_OLDEST = 0x0303
_NAMES = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1"}
_WEAK_SUITE = re.compile(r"TLS_RSA_|.*(?:_RC4_|_3DES_|_NULL_|_CBC_SHA256$|EXPORT)")


def _set(program: Program, name: str) -> Iterator[tuple[Node, Node]]:
    """Every place that sets this field of a TLS configuration: the place, and the value."""
    if name.encode() not in program.data:
        return
    for literal, _ in program.literals(_CONFIG):
        value = program.fields(literal).get(name)
        if value is not None:
            yield value, value
    typeless = {""} | {_CONFIG}
    for one in program.seen.field_sets.get(name, ()):
        if not one.filled and program.type_of(one.operand) in typeless:
            yield one.node, one.value
    # A lone line of a configuration, as snippets quote it.
    for element in program.all("keyed_element"):
        if program.text(element.named_children[0]) != name or not program.afford(len(program.seen.literals)):
            continue
        if not _in_literal(program, element):
            value = element.named_children[-1]
            yield value, value.named_children[0] if value.named_children else value


def _in_literal(program: Program, element: Node) -> bool:
    return any(literal.start_byte <= element.start_byte < literal.end_byte for literal, _ in program.seen.literals)


def verification_off(program: Program) -> Iterator[Hit]:
    """``InsecureSkipVerify`` is set: any certificate is taken, so anybody on the way can read and change everything.

    For a certificate of your own put its authority into ``RootCAs``.
    """
    for place, node in _set(program, "InsecureSkipVerify"):
        value = program.value(node)
        if value.constant is True:
            yield program.hit(place, "certificates are not verified")
        elif not value.known:
            yield program.hit(
                place,
                "certificates may not be verified: this is decided elsewhere",
                severity=Severity.INFO,
                confidence=Confidence.LOW,
            )


def old_version(program: Program) -> Iterator[Hit]:
    """A TLS version older than 1.2 is allowed (RFC 8996 forbids them).

    Leave ``MinVersion`` out, which means 1.2 since Go 1.18, or set ``tls.VersionTLS12`` or later.
    """
    for name in ("MinVersion", "MaxVersion"):
        for place, node in _set(program, name):
            version = program.value(node).constant
            if isinstance(version, int) and not isinstance(version, bool) and 0 < version < _OLDEST:
                yield program.hit(place, f"{name} is {_NAMES.get(version, hex(version))}")


def weak_suites(program: Program) -> Iterator[Hit]:
    """Cipher suites are allowed that have no forward secrecy, or whose ciphers are weak.

    Leave ``CipherSuites`` out: Go chooses well, and orders them by itself since Go 1.17.
    """
    for place, node in _set(program, "CipherSuites"):
        literal = program.value(node).node
        for element in program.elements(literal) if literal is not None else ():
            name = program.text(element).rpartition(".")[2]
            if _WEAK_SUITE.match(name):
                yield program.hit(place, f"{name} is a weak cipher suite")
                break
    for place, node in _set(program, "PreferServerCipherSuites"):
        if program.value(node).constant is not True:
            yield program.hit(
                place,
                "the peer's order of cipher suites is followed (before Go 1.17)",
                severity=Severity.INFO,
                confidence=Confidence.LOW,
            )


def resumption(program: Program) -> Iterator[Hit]:
    """A peer's certificate is checked by ``VerifyPeerCertificate`` alone, which is not called for a resumed session.

    Check in ``VerifyConnection``, which always is, or set ``SessionTicketsDisabled``.
    """
    if b"VerifyPeerCertificate" not in program.data:
        return
    for literal, _ in program.literals(_CONFIG):
        fields = program.fields(literal)
        if "VerifyPeerCertificate" in fields and not fields.keys() & {"VerifyConnection", "SessionTicketsDisabled"}:
            yield program.hit(fields["VerifyPeerCertificate"], "a resumed session is not checked")
        chosen = fields.get("GetConfigForClient")
        if chosen is not None and b"VerifyPeerCertificate" in program.raw(chosen) and "VerifyConnection" not in fields:
            yield program.hit(chosen, "a resumed session may not be checked by the configuration chosen here")
    for one in program.seen.field_sets.get("VerifyPeerCertificate", ()):
        operand = program.text(one.operand)
        others = (
            *program.seen.field_sets.get("VerifyConnection", ()),
            *program.seen.field_sets.get("SessionTicketsDisabled", ()),
        )
        if not any(program.text(other.operand) == operand for other in others):
            yield program.hit(one.node, "a resumed session is not checked")


_SSH = "golang.org/x/crypto/ssh"


def ssh_host_key(program: Program) -> Iterator[Hit]:
    """An SSH server's key is not checked, so another machine can pose as it.

    Use ``knownhosts.New`` or ``ssh.FixedHostKey``.
    """
    name = f"{_SSH}.InsecureIgnoreHostKey"
    for node in (*(call.node for call in program.calls(name)), *program.mentions(name)):
        yield program.hit(node, "any SSH server is taken for the one that was meant")
    if b"HostKeyCallback" not in program.data:
        return
    values = [
        fields["HostKeyCallback"]
        for literal, _ in program.literals(f"{_SSH}.ClientConfig")
        if "HostKeyCallback" in (fields := program.fields(literal))
    ]
    values += [one.value for one in program.seen.field_sets.get("HostKeyCallback", ())]
    for value in values:
        made = program.value(value).node
        function = program.seen.function_of.get(made.id) if made is not None else None
        if function is not None and function.returns and all(program.raw(node) == b"nil" for node in function.returns):
            yield program.hit(value, "any SSH server is taken for the one that was meant")


def ssh_callback_state(program: Program) -> Iterator[Hit]:
    """A callback for public keys keeps the key it is shown; a client may show several and prove another.

    ``PublicKeyCallback`` is asked about every key that a client offers, before it proves to have any. Put what is to be
    known about the key into the ``Permissions`` that the callback returns.
    """
    if b"PublicKeyCallback" not in program.data:
        return
    values = [one.value for one in program.seen.field_sets.get("PublicKeyCallback", ())]
    values += [
        fields["PublicKeyCallback"]
        for literal, _ in program.seen.literals
        if "PublicKeyCallback" in (fields := program.fields(literal))
    ]
    for value in values:
        made = program.value(value).node
        function = program.seen.function_of.get(made.id) if made is not None else None
        if function is None or not function.parameters:
            continue
        key = function.parameters[-1][0]
        for target, given in program.assignments(function):
            root = program.text(target).split(".")[0].split("[")[0]
            declared = program.names.declaration(root, target.start_byte)
            outer = declared is None or declared.scope.start < function.start
            if program.text(given) == key and outer:
                yield program.hit(target, "the key that was shown is kept, though it may not be the one that is proved")


_TOKEN = "github.com/golang-jwt/jwt"  # noqa: S105 - a package


def unsigned_token(program: Program) -> Iterator[Hit]:
    """A JSON Web Token is read without checking who signed it, or made without a signature.

    Use ``jwt.Parse`` with a function that looks at the algorithm, and never allow ``none``.
    """
    if b"jwt" not in program.data:
        return
    for path in (_TOKEN, "github.com/dgrijalva/jwt-go"):
        names = (f"{path}.SigningMethodNone", f"{path}.UnsafeAllowNoneSignatureType")
        for node in program.mentions(*names):
            yield program.hit(node, "a token without a signature is as good as one with it")
    for call in program.calls(".ParseUnverified", f"{_TOKEN}.ParseUnverified"):
        yield program.hit(call.node, "the token's signature is not checked", confidence=Confidence.MEDIUM)


def plain_grpc_server(program: Program, call: Call) -> Iterator[Hit]:
    """A gRPC server is made without credentials, so what it is sent is not encrypted.

    Give it ``grpc.Creds(credentials.NewTLS(…))``.
    """
    if not call.arguments:
        yield program.hit(call.node, "this server takes connections that are not encrypted")


def plain_grpc(program: Program, call: Call) -> Iterator[Hit]:
    """A gRPC connection is not encrypted.

    Anybody on the way reads and changes what is sent. Use ``credentials.NewTLS``.
    """
    yield program.hit(call.node, "the connection is not encrypted")


RULES: tuple[Rule, ...] = (
    Rule(
        id="FH830",
        name="go-tls-verification-off",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=295,
        check=verification_off,
        also=("G402",),
        on=(b"InsecureSkipVerify",),
        hits=(
            "c := &tls.Config{InsecureSkipVerify: true}\n",
            "var c tls.Config\nc.InsecureSkipVerify = true\n",
            "const skip = !false\nvar c = tls.Config{InsecureSkipVerify: skip}\n",
            "t := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}\n",
        ),
        misses=(
            "c := &tls.Config{InsecureSkipVerify: false}\n",
            "c := &tls.Config{ServerName: host}\n",
            "c := Options{InsecureSkipVerify: 5}\n",
        ),
    ),
    Rule(
        id="FH831",
        name="go-tls-old-version",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=327,
        check=old_version,
        also=("G402",),
        on=(b"MinVersion", b"MaxVersion"),
        hits=(
            "c := &tls.Config{MinVersion: tls.VersionTLS10}\n",
            "var v uint16 = tls.VersionTLS11\nvar c = tls.Config{MaxVersion: v}\n",
            "c := &tls.Config{}\nc.MinVersion = 0x0300\n",
        ),
        misses=(
            "c := &tls.Config{MinVersion: tls.VersionTLS12}\n",
            "c := &tls.Config{MinVersion: 0}\n",
            "c := &tls.Config{MinVersion: version()}\n",
            "c := Table{MinVersion: 1}\n",
        ),
    ),
    Rule(
        id="FH832",
        name="go-tls-weak-suites",
        severity=Severity.MEDIUM,
        confidence=Confidence.HIGH,
        cwe=327,
        check=weak_suites,
        also=("G402",),
        on=(b"CipherSuites",),
        hits=(
            "c := &tls.Config{CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}}\n",
            "c := &tls.Config{PreferServerCipherSuites: false}\n",
        ),
        misses=(
            "c := &tls.Config{CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}}\n",
            "c := &tls.Config{PreferServerCipherSuites: true}\n",
        ),
    ),
    Rule(
        id="FH833",
        name="go-tls-resumption",
        severity=Severity.MEDIUM,
        confidence=Confidence.MEDIUM,
        cwe=295,
        check=resumption,
        also=("G123",),
        on=(b"VerifyPeerCertificate",),
        hits=("c := &tls.Config{VerifyPeerCertificate: check}\n", "c.VerifyPeerCertificate = check\n"),
        misses=(
            "c := &tls.Config{VerifyPeerCertificate: check, VerifyConnection: again}\n",
            "c.VerifyPeerCertificate = check\nc.SessionTicketsDisabled = true\n",
        ),
    ),
    Rule(
        id="FH834",
        name="go-ssh-host-key",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=322,
        check=ssh_host_key,
        also=("G106",),
        on=(b"InsecureIgnoreHostKey", b"HostKeyCallback"),
        hits=(
            "c := &ssh.ClientConfig{HostKeyCallback: ssh.InsecureIgnoreHostKey()}\n",
            (
                "c := &ssh.ClientConfig{HostKeyCallback: func(h string, a net.Addr, k ssh.PublicKey) error { "
                "return nil }}\n"
            ),
        ),
        misses=(
            "c := &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(key)}\n",
            "c := &ssh.ClientConfig{User: u}\n",
        ),
    ),
    Rule(
        id="FH835",
        name="go-ssh-callback-state",
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        cwe=287,
        check=ssh_callback_state,
        also=("G408",),
        on=(b"PublicKeyCallback",),
        hits=(
            (
                "var last ssh.PublicKey\nfunc f() {\n"
                "\tc.PublicKeyCallback = func(m ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {\n"
                "\t\tlast = k\n\t\treturn nil, nil\n\t}\n}\n"
            ),
        ),
        misses=(
            (
                "c.PublicKeyCallback = func(m ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {\n"
                "\tkey := k\n\treturn check(key), nil\n}\n"
            ),
            "c.PublicKeyCallback = check\n",
        ),
    ),
    Rule(
        id="FH836",
        name="go-unsigned-token",
        severity=Severity.HIGH,
        confidence=Confidence.HIGH,
        cwe=347,
        check=unsigned_token,
        on=(b"jwt",),
        hits=(
            "t := jwt.NewWithClaims(jwt.SigningMethodNone, claims)\n",
            "t, _, err := new(jwt.Parser).ParseUnverified(s, claims)\n",
        ),
        misses=("t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)\n", "t, err := jwt.Parse(s, keys)\n"),
    ),
    Rule(
        id="FH838",
        name="go-plain-grpc-server",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=319,
        check=plain_grpc_server,
        on=("google.golang.org/grpc.NewServer",),
        hits=("s := grpc.NewServer()\n",),
        misses=("s := grpc.NewServer(grpc.Creds(creds))\n", "s := mine.NewServer()\n"),
    ),
    Rule(
        id="FH837",
        name="go-plain-grpc",
        severity=Severity.LOW,
        confidence=Confidence.MEDIUM,
        cwe=319,
        check=plain_grpc,
        on=("google.golang.org/grpc.WithInsecure", "google.golang.org/grpc/credentials/insecure.NewCredentials"),
        hits=(
            "c, err := grpc.Dial(a, grpc.WithInsecure())\n",
            "o := grpc.WithTransportCredentials(insecure.NewCredentials())\n",
        ),
        misses=("c, err := grpc.Dial(a, grpc.WithTransportCredentials(creds))\n", "x := mine.WithInsecure()\n"),
    ),
)
